import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { brokerPid, endBroker, launchBroker, logTail, prepareBroker } from './broker-process.ts'
import { makeCertificates } from './certificates.ts'
import { Failure } from './failure.ts'
import { findJava, jarsFolder, kafkaVersion } from './jars.ts'
import { brokerPorts, clusterFolder, mostBrokers } from './layout.ts'
import { portOwner } from './port-owner.ts'
import { probe } from './probe.ts'

/** A test cluster on the loopback interface, named by its first port. */
export interface Cluster {
  readonly port: number
  readonly brokers: number
  /** What clients connect to. */
  readonly bootstrap: readonly string[]
  /** How it came about: it ran before, this call started it, or something else runs there. */
  readonly state: 'running' | 'started' | 'foreign'
}

export interface ClusterOptions {
  /** Default 9092. */
  readonly port?: number
  /** Default 1. */
  readonly brokers?: number
  /** Throws away the data of an earlier run. Default false. */
  readonly fresh?: boolean
}

/**
 * Starts a cluster, or finds it running, and returns when each broker is ready for work.
 * Several processes may call it at once.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { port = 9092, brokers = 1, fresh = false } = options
  if (!Number.isInteger(brokers) || brokers < 1 || brokers > mostBrokers) {
    throw new Failure(`--brokers: expected a number from 1 to ${mostBrokers}, found ${brokers}`)
  }
  return await withLock(port, async () => {
    const running = await runningBrokers(port)
    if (running.length === 0) {
      const answer = await probe(port)
      if (answer.kind === 'kafka') return cluster(port, answer.nodes.length, 'foreign')
      await checkPortsFree(port, brokers)
      if (fresh) await clearFolder(port)
    }
    const had = await knownBrokers(port)
    if (running.length === had && running.length > 0) {
      if (brokers !== had && options.brokers !== undefined) {
        throw new Failure(
          `A cluster of ${had} runs on port ${port} already. Stop it first: npm run kafka:stop`,
        )
      }
      await awaitReady(port, had)
      return cluster(port, had, 'running')
    }
    await bringUp(port, running.length > 0 ? had : brokers, had)
    return cluster(port, running.length > 0 ? had : brokers, 'started')
  })
}

function cluster(port: number, brokers: number, state: Cluster['state']): Cluster {
  const bootstrap = Array.from(
    { length: brokers },
    (_, i) => `127.0.0.1:${brokerPorts(port, i + 1).plain}`,
  )
  return { port, brokers, bootstrap, state }
}

async function bringUp(port: number, brokers: number, had: number): Promise<void> {
  // The nodes of a cluster know their number from the start; another number is another cluster.
  if (had !== 0 && had !== brokers) await clearFolder(port)
  await jarsFolder()
  await makeCertificates(port, await findJava())
  for (let index = 1; index <= brokers; index++) {
    if ((await brokerPid(port, index)) !== undefined) continue
    await prepareBroker(port, brokers, index)
    await launchBroker(port, index)
  }
  await awaitReady(port, brokers)
}

/** Waits until each broker answers, and knows of all the others. */
async function awaitReady(port: number, brokers: number, only?: number): Promise<void> {
  const deadline = Date.now() + 180_000
  for (let index = only ?? 1; index <= (only ?? brokers); index++) {
    for (;;) {
      const answer = await probe(brokerPorts(port, index).plain)
      if (answer.kind === 'kafka' && answer.nodes.length >= (only === undefined ? brokers : 1))
        break
      if ((await brokerPid(port, index)) === undefined) {
        throw new Failure(
          `Kafka broker ${index} ended while it was starting. Its log ends with:\n${await logTail(port, index)}`,
        )
      }
      if (Date.now() > deadline) {
        throw new Failure(
          `Kafka broker ${index} is not ready after 180 s. Its log ends with:\n${await logTail(port, index)}`,
        )
      }
      await wait(100)
    }
  }
}

/** Stops a cluster; its data stays. Returns how many brokers were running. */
export async function stopCluster(port = 9092): Promise<number> {
  return await withLock(port, async () => {
    const running = await runningBrokers(port)
    // Together: the last controller alone has no majority any more, and would wait for one.
    await Promise.all(running.map((index) => endBroker(port, index, 'SIGTERM')))
    return running.length
  })
}

/** Kills one broker as a crash would. Brokers count from 1. */
export async function killBroker(port: number, index: number): Promise<void> {
  await endBroker(port, index, 'SIGKILL')
}

/** Stops one broker in order: it hands over its partitions first. */
export async function stopBroker(port: number, index: number): Promise<void> {
  await endBroker(port, index, 'SIGTERM')
}

/** Starts a broker that was killed or stopped, or restarts one that runs, and waits until it answers. */
export async function restartBroker(port: number, index: number): Promise<void> {
  await endBroker(port, index, 'SIGTERM')
  await launchBroker(port, index)
  await awaitReady(port, await knownBrokers(port), index)
}

export interface ClusterStatus {
  readonly port: number
  readonly brokers: readonly {
    readonly index: number
    readonly pid: number | undefined
    readonly ready: boolean
  }[]
  /** A broker answers on the port that these scripts did not start. */
  readonly foreign: boolean
}

/** What runs on a port. */
export async function clusterStatus(port = 9092): Promise<ClusterStatus> {
  const known = await knownBrokers(port)
  const brokers = await Promise.all(
    Array.from({ length: known }, async (_, i) => {
      const pid = await brokerPid(port, i + 1)
      const ready =
        pid !== undefined && (await probe(brokerPorts(port, i + 1).plain)).kind === 'kafka'
      return { index: i + 1, pid, ready }
    }),
  )
  const isOurs = brokers.some(({ pid }) => pid !== undefined)
  return { port, brokers, foreign: !isOurs && (await probe(port)).kind === 'kafka' }
}

async function knownBrokers(port: number): Promise<number> {
  const names = await readdir(clusterFolder(port)).catch(() => [])
  return names.filter((name) => /^broker-\d+$/.test(name)).length
}

async function runningBrokers(port: number): Promise<readonly number[]> {
  const known = await knownBrokers(port)
  const pids = await Promise.all(Array.from({ length: known }, (_, i) => brokerPid(port, i + 1)))
  return pids.flatMap((pid, i) => (pid === undefined ? [] : [i + 1]))
}

async function checkPortsFree(port: number, brokers: number): Promise<void> {
  for (let index = 1; index <= brokers; index++) {
    for (const [use, wanted] of Object.entries(brokerPorts(port, index))) {
      if ((await probe(wanted, 500)).kind === 'nothing') continue
      throw new Failure(
        `Port ${wanted} (${use} port of Kafka broker ${index}) is taken by ${await portOwner(wanted)}. ` +
          'End it, or choose others with --port.',
      )
    }
  }
}

async function clearFolder(port: number): Promise<void> {
  const folder = clusterFolder(port)
  const names = await readdir(folder).catch(() => [])
  await Promise.all(
    names
      .filter((name) => name.startsWith('broker-'))
      .map((name) => rm(join(folder, name), { recursive: true })),
  )
}

/** One starter or stopper at a time per port. A lock whose holder is gone is taken over. */
async function withLock<Result>(port: number, task: () => Promise<Result>): Promise<Result> {
  const folder = clusterFolder(port)
  await mkdir(folder, { recursive: true })
  const lock = join(folder, 'lock')
  const deadline = Date.now() + 300_000
  for (;;) {
    try {
      await writeFile(lock, `${process.pid}`, { flag: 'wx' })
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const holder = Number(await readFile(lock, 'utf8').catch(() => ''))
    if (holder > 0 && !isAlive(holder)) await rm(lock, { force: true })
    else if (Date.now() > deadline)
      throw new Failure(`Process ${holder} holds ${lock} for more than five minutes.`)
    else await wait(100)
  }
  try {
    return await task()
  } finally {
    await rm(lock, { force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** What the broker calls itself, for messages. */
export const brokerTitle = `Kafka ${kafkaVersion}`
