import { makeTopics, removeFromKafka } from '../kafka-topics.ts'
import { checkpoint, withSchema } from '../store/database.ts'
import { median, printTable } from '../table.ts'
import { runContestant, startContestant } from '../turns.ts'
import type { LatencyFigures, LatencyTask, ServiceTask } from './task.ts'

const rates = [1_000, 5_000]
const warmUpSeconds = 5

/** `undefined` reads the very topic that was written; the others read what the service writes. */
const contestants = { 'bare Kafka hop': undefined, 'Pollux, outbox': 'service.ts' } as const
type Contestant = keyof typeof contestants

interface Row {
  readonly rate: number
  readonly contestant: Contestant
  readonly runs: LatencyFigures[]
}

/** Measures the whole way of a message from its producer to its reader, at a steady load. */
export async function compareLatencies(seconds: number, rounds: number): Promise<void> {
  const names = Object.keys(contestants) as Contestant[]
  const rows: Row[] = rates.flatMap((rate) =>
    names.map((contestant) => ({ rate, contestant, runs: [] })),
  )
  for (let round = 0; round < rounds; round += 1) {
    for (const { rate, contestant, runs } of rows)
      runs.push(await measure(contestant, { rate, warmUpSeconds, seconds }))
  }
  const of = (runs: readonly LatencyFigures[], figure: keyof LatencyFigures): number =>
    median(runs.map((run) => run[figure]))
  printTable(`latency: ms, ${seconds} s each, median of ${rounds} rounds`, rows, [
    { heading: '', show: ({ contestant }) => contestant },
    { heading: 'messages/s', show: ({ rate }) => String(rate) },
    { heading: 'p50', show: ({ runs }) => of(runs, 'p50').toFixed(1) },
    { heading: 'p99', show: ({ runs }) => of(runs, 'p99').toFixed(1) },
    { heading: 'max', show: ({ runs }) => of(runs, 'max').toFixed(0) },
    {
      heading: 'arrived',
      show: ({ runs }) => `${of(runs, 'arrived')} of ${of(runs, 'expected')}`,
    },
  ])
}

function measure(
  contestant: Contestant,
  load: Omit<LatencyTask, 'topic'>,
): Promise<LatencyFigures> {
  return withSchema(async (schema, database) => {
    const group = schema
    const input = `${group}-in`
    const output = `${group}-out`
    await makeTopics(input, output)
    await checkpoint(database)
    const script = contestants[contestant]
    const task: ServiceTask = { group, input, output, schema }
    const service = script === undefined ? undefined : startContestant(url(script), task)
    const topic = script === undefined ? input : output
    try {
      const reading = runContestant<LatencyFigures>(url('reader.ts'), { ...load, topic })
      const [figures] = await Promise.all([
        reading.finally(() => service?.stop()),
        runContestant(url('producer.ts'), { ...load, topic: input }),
        service?.result,
      ])
      return figures
    } finally {
      await removeFromKafka([group], [input, output])
    }
  })
}

function url(script: string): URL {
  return new URL(script, import.meta.url)
}
