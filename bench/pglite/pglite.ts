import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median, printTable } from '../table.ts'
import { runContestant, takeTurns } from '../turns.ts'
import type { PgliteFigures, PgliteTask } from './task.ts'

const contestants = {
  'in memory': { isDurable: false, hasOutputs: false },
  'in a folder': { isDurable: true, hasOutputs: false },
  'in a folder, outbox': { isDurable: true, hasOutputs: true },
} as const

/** Measures the embedded default, and for how long it keeps the event loop from everything else. */
export async function comparePglite(messages: number, rounds: number): Promise<void> {
  const names = Object.keys(contestants) as (keyof typeof contestants)[]
  const results = await takeTurns(names, rounds, async (name) => {
    const { isDurable, hasOutputs } = contestants[name]
    const folder = await mkdtemp(join(tmpdir(), 'pollux-bench-'))
    const task: PgliteTask = { messages, hasOutputs, ...(isDurable ? { folder } : {}) }
    try {
      return await runContestant<PgliteFigures>(new URL('pollux.ts', import.meta.url), task)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
  const of = (runs: readonly PgliteFigures[], figure: (run: PgliteFigures) => number): number =>
    median(runs.map(figure))
  const title = `pglite: ${messages} messages of 200 bytes, median of ${rounds} rounds`
  printTable(
    title,
    [...results],
    [
      { heading: '', show: ([name]) => name },
      {
        heading: 'messages/s',
        show: ([, runs]) => of(runs, (run) => run.messages / run.seconds).toFixed(0),
      },
      {
        heading: 'µs CPU/message',
        show: ([, runs]) => of(runs, ({ cpuMicroseconds }) => cpuMicroseconds).toFixed(1),
      },
      {
        heading: 'event loop delay p99 ms',
        show: ([, runs]) => of(runs, ({ delayP99 }) => delayP99).toFixed(0),
      },
      { heading: 'max ms', show: ([, runs]) => of(runs, ({ delayMax }) => delayMax).toFixed(0) },
    ],
  )
}
