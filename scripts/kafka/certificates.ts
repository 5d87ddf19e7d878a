import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Failure } from './failure.ts'
import { runProgram } from './jars.ts'
import { certificatesFolder, testKeyPassword } from './layout.ts'

/**
 * Makes a certificate authority, the brokers' key and a client's key with Java's keytool, once for a cluster.
 * `ca.pem` is what clients trust; the stores are PKCS12.
 */
export async function makeCertificates(port: number, java: string): Promise<void> {
  const folder = certificatesFolder(port)
  if (existsSync(join(folder, 'trust.p12'))) return
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const keytool = java === 'java' ? 'keytool' : join(dirname(java), 'keytool')
  const run = async (store: string, ...args: string[]): Promise<void> => {
    const all = [
      ...args,
      '-keystore',
      store,
      '-storepass',
      testKeyPassword,
      '-storetype',
      'PKCS12',
      '-noprompt',
    ]
    const { code, output } = await runProgram(keytool, all, { cwd: folder })
    if (code !== 0) throw new Failure(`keytool could not make the test certificates: ${output}`)
  }
  const key = ['-genkeypair', '-keyalg', 'EC', '-groupname', 'secp256r1', '-validity', '3650']
  await run('ca.p12', ...key, '-alias', 'ca', '-dname', 'CN=Pollux test authority', '-ext', 'bc:c')
  await run('ca.p12', '-exportcert', '-rfc', '-alias', 'ca', '-file', 'ca.pem')
  for (const [name, extension] of [
    ['server', 'san=dns:localhost,ip:127.0.0.1'],
    ['client', 'eku=clientAuth'],
  ] as const) {
    const store = `${name}.p12`
    await run(store, ...key, '-alias', name, '-dname', `CN=${name}`)
    await run(store, '-certreq', '-alias', name, '-file', `${name}.csr`)
    const sign = ['-gencert', '-rfc', '-alias', 'ca', '-validity', '3650', '-ext', extension]
    await run('ca.p12', ...sign, '-infile', `${name}.csr`, '-outfile', `${name}.pem`)
    await run(store, '-importcert', '-alias', 'ca', '-file', 'ca.pem')
    await run(store, '-importcert', '-alias', name, '-file', `${name}.pem`)
  }
  await run('trust.p12', '-importcert', '-alias', 'ca', '-file', 'ca.pem')
}
