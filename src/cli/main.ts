#!/usr/bin/env node
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
process.on('uncaughtException', crash)
process.on('unhandledRejection', crash)

const output = new Output()
void main()

async function main(): Promise<void> {
  try {
    const request = readCommandLine(process.argv.slice(2))
    if (request === undefined) return await finish(exitCodes.ok)
    const { execute } = await import('./execute.ts')
    await finish(await execute(request, output))
  } catch (error) {
    process.stderr.write(errorBlock(error))
    await finish(exitCodeOf(error))
  }
}

/** Ends the process even if a user's module holds something open, after the output is out. */
async function finish(code: number): Promise<void> {
  await output.flush()
  process.exit(code)
}

function crash(error: unknown): void {
  process.stderr.write(errorBlock(error))
  process.exit(exitCodes.crashed)
}
