import { distinctKeys, eventRecord } from '../events.ts'
import { fill, makeTopics, removeFromKafka } from '../kafka-topics.ts'
import type { Figures } from '../meter.ts'
import { median, medianRatio, printTable } from '../table.ts'
import { runContestant, takeTurns } from '../turns.ts'
import { withTable } from './places.ts'
import type { Database, SidecarTask } from './task.ts'

const contestants = { 'by hand, a batch': 'by-hand.ts', 'sidecar()': 'pollux.ts' } as const
type Contestant = keyof typeof contestants
const names = Object.keys(contestants) as Contestant[]

/** Compares ways from Kafka to a table of somebody else's: each message an upsert of its key's row. */
export async function compareSidecars(messages: number, rounds: number): Promise<void> {
  const group = `pollux-bench-sidecar-${process.pid}`
  const input = `${group}-in`
  await makeTopics(input)
  try {
    await fill(messages, (index) => eventRecord(input, index))
    for (const database of ['postgres', 'mysql'] as const) {
      const results = await takeTurns(names, rounds, (name) =>
        measure(contestants[name], { database, group, input, messages }),
      )
      show(
        `sidecar, ${database}: ${messages} messages of 200 bytes, median of ${rounds} rounds`,
        results,
      )
    }
  } finally {
    await removeFromKafka([group], [input])
  }
}

async function measure(
  script: string,
  task: Omit<SidecarTask, 'schema'> & { readonly database: Database },
): Promise<Figures> {
  const { result, rows } = await withTable(task.database, (schema) =>
    runContestant<Figures>(new URL(script, import.meta.url), { ...task, schema }),
  )
  await removeFromKafka([task.group], [])
  // Who has not done the work is not fast.
  const expected = Math.min(task.messages, distinctKeys)
  if (rows !== expected) throw new Error(`${script} left ${rows} rows, expected ${expected}`)
  return result
}

function show(title: string, results: ReadonlyMap<Contestant, readonly Figures[]>): void {
  const rate = ({ messages, seconds }: Figures): number => messages / seconds
  const baseRates = (results.get('by hand, a batch') ?? []).map(rate)
  printTable(
    title,
    [...results],
    [
      { heading: '', show: ([name]) => name },
      { heading: 'messages/s', show: ([, runs]) => median(runs.map(rate)).toFixed(0) },
      { heading: '×', show: ([, runs]) => medianRatio(runs.map(rate), baseRates).toFixed(2) },
      {
        heading: 'µs CPU/message',
        show: ([, runs]) => median(runs.map((run) => run.cpuMicroseconds)).toFixed(1),
      },
    ],
  )
}
