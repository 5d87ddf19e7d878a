import { type SpawnOptions, spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'

/** The repository's folder. */
export const root: string = join(import.meta.dirname, '..')

/** How a command ended. */
export interface CommandResult {
  /** The exit code, or null when a signal ended it or it could not be started. */
  readonly code: number | null
  /** Standard output and standard error in one, in the order they came; empty when both were passed on. */
  readonly output: string
}

/** What `runCommand` may be told beside the command. */
export interface CommandOptions {
  /** Default: the repository's folder. */
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Ends the command after so many milliseconds. Default: no limit. */
  readonly timeout?: number
  /** Shows what the command prints at once, instead of collecting it. */
  readonly isShown?: boolean
}

/** Runs a command of the repository (`tsc`, `biome`, …) or of the machine. Rejects with nothing. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const settings: SpawnOptions = {
    cwd: options.cwd ?? root,
    env: { ...process.env, PATH: searchPath(), ...options.env },
    stdio: options.isShown === true ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    timeout: options.timeout ?? 0,
    killSignal: 'SIGKILL',
  }
  return new Promise((resolve) => {
    const child = spawn(command, args, settings)
    let output = ''
    const collect = (chunk: Buffer): void => void (output += chunk.toString())
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    child.on('error', (error) => resolve({ code: null, output: `${command}: ${error.message}` }))
    // `exit`, not `close`: a broker started by the command inherits its output and keeps it open.
    child.on('exit', (code) => setImmediate(resolve, { code, output }))
  })
}

/** The repository's own commands first, so that `node` is the pinned one. */
function searchPath(): string {
  return [join(root, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter)
}

/** Prints and sets the exit code; nothing after it is cut off. */
export function fail(message: string): void {
  console.error(message)
  process.exitCode = 1
}
