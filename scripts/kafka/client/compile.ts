import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { Failure } from '../failure.ts'
import { runProgram } from '../jars.ts'
import { type Addon, loadProblem, nativeFile } from './addon.ts'
import { place } from './place.ts'

const debianPackages = [
  ...[
    'libssl-dev',
    'zlib1g-dev',
    'libzstd-dev',
    'libcurl4-openssl-dev',
    'liblz4-dev',
    'libsasl2-dev',
  ],
  ...['g++', 'make', 'python3'],
]

/** Compiles the native part, for about four minutes, in a copy of the package. @throws Failure saying what is missing. */
export async function compile(addon: Addon): Promise<void> {
  await requirePackages()
  const copy = await mkdtemp(join(tmpdir(), 'pollux-kafka-client-'))
  try {
    const folder = join(copy, 'package')
    await cp(addon.folder, folder, { recursive: true, filter: (path) => path !== addon.build })
    const modules = dirname(dirname(addon.folder))
    const env = environment(modules)
    const tool = createRequire(import.meta.url).resolve('node-gyp/bin/node-gyp.js')
    const nodeFolder = join(modules, `node-${process.platform}-${process.arch}`)
    // Node's headers come with the pinned Node, so nothing has to be fetched.
    const headers = existsSync(join(nodeFolder, 'include', 'node'))
      ? [`--nodedir=${nodeFolder}`]
      : []
    const { code, output } = await runProgram(process.execPath, [tool, 'rebuild', ...headers], {
      cwd: folder,
      env,
    })
    const built = join(folder, 'build')
    if (code !== 0 || !existsSync(join(built, nativeFile))) {
      throw new Failure(
        `The Kafka client could not be compiled:\n${output.split('\n').slice(-30).join('\n')}`,
      )
    }
    const problem = await loadProblem(built)
    if (problem !== undefined)
      throw new Failure(`The Kafka client was compiled, but does not load: ${problem}`)
    await place(built, addon.build)
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

function environment(modules: string): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    CKJS_LINKING: 'dynamic',
    // The copy finds the headers of `nan` where the package does.
    NODE_PATH: modules,
    PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
  }
  // A parallel first make breaks: librdkafka's configuration is made by it.
  delete env['JOBS']
  delete env['MAKEFLAGS']
  // npm hands its settings to its scripts, and node-gyp lets them win over what it is told: another `nodedir` would
  // mean the headers of another Node.
  for (const name of Object.keys(env)) if (/^npm_/i.test(name)) delete env[name]
  return env
}

async function requirePackages(): Promise<void> {
  const missing = await missingPackages()
  if (missing.length === 0) return
  const command = `apt-get install -y --no-install-recommends ${missing.join(' ')}`
  const isRoot = process.getuid?.() === 0
  if (isRoot && process.env['CI'] === 'true') {
    console.log(`Installing ${missing.join(', ')}`)
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    await runProgram('apt-get', ['update', '-qq'], { env })
    await runProgram('apt-get', command.split(' ').slice(1), { env })
    const left = await missingPackages()
    if (left.length === 0) return
    throw new Failure(`These packages could not be installed: ${left.join(', ')}`)
  }
  throw new Failure(
    `To compile the Kafka client, these Debian packages are missing: ${missing.join(', ')}.\n` +
      `Install them with:\n  ${isRoot ? '' : 'sudo '}${command}\nand run this again: npm run kafka:client`,
  )
}

/** The packages that dpkg does not know as installed; none where there is no dpkg, as the compiler will tell. */
async function missingPackages(): Promise<readonly string[]> {
  try {
    const { output } = await runProgram('dpkg-query', [
      '-W',
      '-f=${Package} ${db:Status-Abbrev}\n',
      ...debianPackages,
    ])
    const installed = new Set(
      output
        .split('\n')
        .flatMap((line) => (line.includes(' ii') ? [line.split(' ')[0] ?? ''] : [])),
    )
    return debianPackages.filter((name) => !installed.has(name))
  } catch {
    return []
  }
}
