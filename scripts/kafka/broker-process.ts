import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { brokerProperties } from './broker-properties.ts'
import { Failure } from './failure.ts'
import { findJava, jarsFolder, runProgram } from './jars.ts'
import { brokerFolder, testAccounts } from './layout.ts'

// Any constant will do; the nodes of one cluster must share it.
const clusterId = 'cG9sbHV4LXRlc3Qta2Fma2'

/** Writes a broker's configuration and formats its data folder, unless that was done before. */
export async function prepareBroker(port: number, brokers: number, index: number): Promise<void> {
  const folder = brokerFolder(port, index)
  await mkdir(join(folder, 'data'), { recursive: true })
  await writeFile(join(folder, 'server.properties'), brokerProperties(port, brokers, index))
  if (existsSync(join(folder, 'data', 'meta.properties'))) return
  const { owner, stranger } = testAccounts
  const scram = [owner, stranger].flatMap(({ username, password }) =>
    ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((name) => [
      '--add-scram',
      `${name}=[name=${username},password=${password}]`,
    ]),
  )
  const format = [
    'kafka.tools.StorageTool',
    'format',
    '-t',
    clusterId,
    '-c',
    join(folder, 'server.properties'),
  ]
  const args = ['-cp', await classPath(), '-XX:TieredStopAtLevel=1', ...format, ...scram]
  const { code, output } = await runProgram(await findJava(), args)
  if (code !== 0) throw new Failure(`Kafka could not format ${folder}:\n${output.slice(-2000)}`)
}

async function classPath(): Promise<string> {
  return `${join(await jarsFolder(), '*')}`
}

/** Starts a prepared broker in the background; it outlives this process. Its output goes to `broker.log`. */
export async function launchBroker(port: number, index: number): Promise<void> {
  const folder = brokerFolder(port, index)
  const java = await findJava()
  const args = [
    ...['-Xmx512m', '-Xms128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
    `-Dlog4j2.configurationFile=${join(import.meta.dirname, 'log4j2.properties')}`,
    ...['-cp', await classPath(), 'kafka.Kafka', join(folder, 'server.properties')],
  ]
  const log = openSync(join(folder, 'broker.log'), 'a')
  const child = spawn(java, args, { detached: true, stdio: ['ignore', log, log], cwd: folder })
  closeSync(log)
  child.unref()
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  await writeFile(join(folder, 'pid'), `${child.pid}`)
}

/** The process id of a running broker; undefined when it does not run. */
export async function brokerPid(port: number, index: number): Promise<number | undefined> {
  const text = await readFile(join(brokerFolder(port, index), 'pid'), 'utf8').catch(() => '')
  const pid = Number(text)
  return pid > 0 && (await isOurs(pid, port, index)) ? pid : undefined
}

/** A process id may have been given to another program since, after a restart of the machine for one. */
async function isOurs(pid: number, port: number, index: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  if (!existsSync('/proc')) return true
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return command.includes(join(brokerFolder(port, index), 'server.properties'))
}

/** Ends a broker: `SIGTERM` lets it hand over its partitions, `SIGKILL` is a crash. Returns once the process is gone. */
export async function endBroker(
  port: number,
  index: number,
  signal: 'SIGTERM' | 'SIGKILL',
): Promise<boolean> {
  const pid = await brokerPid(port, index)
  if (pid === undefined) return false
  process.kill(pid, signal)
  const deadline = Date.now() + 20_000
  while ((await brokerPid(port, index)) !== undefined) {
    if (Date.now() > deadline) process.kill(pid, 'SIGKILL')
    await wait(50)
  }
  await rm(join(brokerFolder(port, index), 'pid'), { force: true })
  return true
}

/** The end of a broker's log, for messages about a broker that does not come up. */
export async function logTail(port: number, index: number): Promise<string> {
  const text = await readFile(join(brokerFolder(port, index), 'broker.log'), 'utf8').catch(() => '')
  return text.split('\n').slice(-15).join('\n')
}
