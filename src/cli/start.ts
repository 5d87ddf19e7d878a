import { errorBlock } from './error-block.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { Output } from './output.ts'
import { readCommandLine } from './program.ts'

// A promise that can never settle (in a module given to `run`, say) would let Node end in silence and with success.
process.once('beforeExit', () => {
  process.stderr.write(
    'error: The command ended before it was through: it waits for something that cannot come.\n',
  )
  process.exit(exitCodes.crashed)
})
// A reader of stderr that went away is no reason to fail.
process.stderr.on('error', () => {})
process.on('uncaughtException', (error) => crash(error))
process.on('unhandledRejection', (reason) =>
  crash(reason, 'A promise that nobody awaited was rejected: '),
)

const output = new Output()
// Users' modules may hold something open, so the process is ended, not left to end.
void main()

async function main(): Promise<void> {
  const code = await execute()
  const flushed = await flush()
  if (code !== exitCodes.ok || flushed === undefined) process.exit(code)
  process.exit(fail(flushed))
}

async function execute(): Promise<number> {
  try {
    const request = readCommandLine(process.argv.slice(2))
    if (request === undefined) return exitCodes.ok
    const { executeRequest } = await import('./execute-request.ts')
    return await executeRequest(request, output)
  } catch (error) {
    return fail(error)
  }
}

/** Resolves with what is wrong with the output: what was written last may fail last, too. */
async function flush(): Promise<unknown> {
  try {
    await output.flush()
    return undefined
  } catch (error) {
    return error
  }
}

function fail(error: unknown): number {
  process.stderr.write(errorBlock(error))
  return exitCodeOf(error)
}

function crash(error: unknown, lead = ''): void {
  process.stderr.write(errorBlock(error, { lead }))
  process.exit(exitCodes.crashed)
}
