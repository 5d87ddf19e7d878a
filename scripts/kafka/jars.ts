import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder } from './cache-folder.ts'
import { Failure } from './failure.ts'

/** The version of the broker that the tests run against; the same as in `pom.xml`. */
export const kafkaVersion = '4.4.0'

/** The folder with the broker's jars; Maven fetches them once. Safe when several processes do it at once. */
export async function jarsFolder(): Promise<string> {
  const folder = join(cacheFolder(), `kafka-${kafkaVersion}`, 'jars')
  if (existsSync(folder)) return folder
  const parent = join(cacheFolder(), `kafka-${kafkaVersion}`)
  await mkdir(parent, { recursive: true })
  const fresh = await mkdtemp(join(parent, 'jars-'))
  console.log(`Fetching Kafka ${kafkaVersion} (about 50 MB) with Maven into ${folder}`)
  try {
    await fetchJars(fresh)
    // Two processes may fetch at once: each into a folder of its own, and the first to rename wins.
    await rename(fresh, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
  return folder
}

async function fetchJars(folder: string): Promise<void> {
  const pom = join(import.meta.dirname, 'pom.xml')
  const args = [
    '-q',
    '-B',
    '-f',
    pom,
    'dependency:copy-dependencies',
    `-DoutputDirectory=${folder}`,
  ]
  const { code, output } = await runProgram('mvn', args).catch((cause: unknown) => {
    throw new Failure(
      'Maven (mvn) is not installed; it fetches the Kafka broker. Install it, for example with ' +
        '`apt-get install maven`, or set KAFKA_BROKERS to a broker that runs already.',
      { cause },
    )
  })
  if (code === 0) return
  throw new Failure(`Maven could not fetch Kafka ${kafkaVersion}:\n${output.slice(-2000)}`)
}

/** Runs a program to its end. Rejects when it cannot be started. */
export function runProgram(
  command: string,
  args: readonly string[],
  options: {
    readonly cwd?: string
    readonly env?: NodeJS.ProcessEnv
    readonly timeout?: number
  } = {},
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-64_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

/** The Java to run brokers with: `JAVA_HOME`'s, else the one on the path. Kafka 4 needs Java 17. */
export async function findJava(): Promise<string> {
  const home = process.env['JAVA_HOME']
  const java =
    home !== undefined && existsSync(join(home, 'bin', 'java')) ? join(home, 'bin', 'java') : 'java'
  const { output } = await runProgram(java, ['-version']).catch((cause: unknown) => {
    throw new Failure(
      'Java is not installed; the Kafka broker needs version 17 or later. Install it, for example with ' +
        '`apt-get install openjdk-17-jre-headless`, or set KAFKA_BROKERS to a broker that runs already.',
      { cause },
    )
  })
  const major = Number(/version "(\d+)/.exec(output)?.[1] ?? 0)
  if (major >= 17) return java
  throw new Failure(
    `Kafka ${kafkaVersion} needs Java 17 or later, found ${output.split('\n')[0] ?? 'no version'}.`,
  )
}
