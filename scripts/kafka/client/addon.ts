import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { cacheFolder } from '../cache-folder.ts'
import { Failure } from '../failure.ts'
import { runProgram } from '../jars.ts'

export const clientPackage = '@confluentinc/kafka-javascript'

/** The native part, in a build folder. It looks for its libraries in the folder `deps` beside `Release`. */
export const nativeFile: string = join('Release', 'confluent-kafka-javascript.node')

/** The installed client, and where its native part belongs. */
export interface Addon {
  /** The package's folder. */
  readonly folder: string
  readonly version: string
  /** Where the native part is, inside the package. */
  readonly build: string
  /** Where it is kept for the next installation. */
  readonly cached: string
}

/** Finds the client. `POLLUX_KAFKA_CLIENT` names another copy of the package, for tests. */
export async function findAddon(): Promise<Addon> {
  const folder =
    process.env['POLLUX_KAFKA_CLIENT'] ??
    join(import.meta.dirname, '../../../node_modules', clientPackage)
  if (!existsSync(join(folder, 'package.json'))) {
    throw new Failure(`${clientPackage} is not installed in ${folder}. Install it first: npm ci`)
  }
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    readonly version: string
  }
  const key = `${version}-abi${process.versions.modules}-${process.platform}-${process.arch}-${libc()}`
  return {
    folder,
    version,
    build: join(folder, 'build'),
    cached: join(cacheFolder(), 'kafka-client', key),
  }
}

/** A binary for one C library does not load with another. */
function libc(): string {
  if (process.platform !== 'linux') return 'system'
  const header = (
    process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } }
  ).header
  return header.glibcVersionRuntime === undefined ? 'musl' : 'glibc'
}

/** Why a native part does not load; undefined when it does. In a process of its own, as a broken one may end it. */
export async function loadProblem(build: string): Promise<string | undefined> {
  const file = join(build, nativeFile)
  if (!existsSync(file)) return 'it is not there'
  const { code, output } = await runProgram(process.execPath, [
    '-e',
    `require(${JSON.stringify(file)})`,
  ])
  if (code === 0) return undefined
  const lines = output.split('\n')
  // Node prints the place in its own code first; the error's own line tells more.
  const telling = lines.findIndex((line) => /^\w*Error: /.test(line))
  return lines.slice(Math.max(telling, 0)).slice(0, 3).join(' ').trim() || `exit code ${code}`
}

/** `require` from inside the package, for the tools that it brings. */
export function requireFrom({ folder }: Addon): NodeJS.Require {
  return createRequire(join(folder, 'package.json'))
}
