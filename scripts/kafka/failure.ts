/** A failure that the reader can mend: shown as its message alone, without a stack. */
export class Failure extends Error {}

/** Runs a script's main function; its number is the exit code, a failure is told and exits with 1. */
export async function runScript(main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main()
  } catch (error) {
    console.error(error instanceof Failure ? error.message : error)
    process.exitCode = 1
  }
}
