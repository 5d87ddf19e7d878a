import { eventually, type TestRuntime } from '../../src/testing/index.ts'

/** `runtime.settled()`, while time moves in small steps: whoever waits for a retry waits for that. */
export async function settledInTime(runtime: TestRuntime): Promise<void> {
  let isOver = false
  const end = runtime.settled().finally(() => {
    isOver = true
  })
  end.catch(() => {})
  await eventually('it is settled', async () => {
    await runtime.clock.advance(100)
    return isOver
  })
  await end
}
