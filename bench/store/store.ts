import type { Publishing } from '../event-service.ts'
import { distinctKeys, eventRecord } from '../events.ts'
import { fill, makeTopics, removeFromKafka } from '../kafka-topics.ts'
import type { Figures } from '../meter.ts'
import { median, medianRatio, printTable } from '../table.ts'
import { runContestant, takeTurns } from '../turns.ts'
import { checkpoint, countRows, rowsWritten, withSchema } from './database.ts'
import type { StatementFigures } from './statement-watch.ts'
import type { StoreTask } from './task.ts'

interface Contestant {
  readonly script: string
  readonly publish?: Publishing
  /** How many of the messages it is given: a slow one would keep the others waiting. */
  readonly share?: number
  /** Where it keeps marks and state. */
  readonly tables: readonly [marks: string, states: string]
}

const byHand = ['mark', 'price'] as const
const own = ['pollux_inbox', 'pollux_state'] as const
const baseline = 'by hand, a batch'

const contestants: Readonly<Record<string, Contestant>> = {
  'by hand, one transaction a message': { script: 'by-hand-each.ts', share: 0.05, tables: byHand },
  [baseline]: { script: 'by-hand-batch.ts', tables: byHand },
  'by hand, a batch, tuned': { script: 'by-hand-tuned.ts', tables: byHand },
  Pollux: { script: 'pollux.ts', tables: own },
  'Pollux, outbox': { script: 'pollux.ts', publish: 'outbox', tables: own },
  'Pollux, direct': { script: 'pollux.ts', publish: 'direct', tables: own },
}

interface Run extends Figures, StatementFigures {
  readonly rowsWritten: number
}

/** Compares ways from Kafka to PostgreSQL: each event applied once, one upsert a message. */
export async function compareStores(messages: number, rounds: number): Promise<void> {
  const name = `pollux-bench-store-${process.pid}`
  const input = `${name}-in`
  const output = `${name}-out`
  await makeTopics(input, output)
  try {
    await fill(messages, (index) => eventRecord(input, index))
    const names = Object.keys(contestants)
    const results = await takeTurns(names, rounds, (contestant) =>
      measure(contestants[contestant] as Contestant, { group: name, input, output, messages }),
    )
    show(`store: ${messages} messages of 200 bytes, median of ${rounds} rounds`, results)
  } finally {
    await removeFromKafka([name], [input, output])
  }
}

function measure(
  { script, publish, share = 1, tables }: Contestant,
  common: Omit<StoreTask, 'schema' | 'publish'>,
): Promise<Run> {
  return withSchema(async (schema, database) => {
    const messages = Math.ceil(common.messages * share)
    const task: StoreTask = {
      ...common,
      messages,
      schema,
      publish,
    }
    await database.query(`create schema ${schema}`)
    await checkpoint(database)
    const figures = await runContestant<Figures & StatementFigures>(
      new URL(script, import.meta.url),
      task,
    )
    await removeFromKafka([common.group], [])
    // Who has not done the work is not fast.
    const [marks, states] = tables
    expectRows(script, marks, await countRows(database, schema, marks), messages)
    if (share === 1) {
      const keys = Math.min(messages, distinctKeys)
      expectRows(script, states, await countRows(database, schema, states), keys)
    }
    return { ...figures, rowsWritten: await rowsWritten(database, schema) }
  })
}

function expectRows(script: string, table: string, found: number, expected: number): void {
  if (found !== expected)
    throw new Error(`${script} left ${found} rows in ${table}, expected ${expected}`)
}

function show(title: string, results: ReadonlyMap<string, readonly Run[]>): void {
  const rate = ({ messages, seconds }: Run): number => messages / seconds
  const baseRates = (results.get(baseline) ?? []).map(rate)
  const of = (runs: readonly Run[], figure: (run: Run) => number): number =>
    median(runs.map(figure))
  const server = ({ serverCpuSeconds = Number.NaN, messages }: Run): number =>
    (serverCpuSeconds * 1e6) / messages
  printTable(
    title,
    [...results],
    [
      { heading: '', show: ([name]) => name },
      { heading: 'messages/s', show: ([, runs]) => of(runs, rate).toFixed(0) },
      { heading: '×', show: ([, runs]) => medianRatio(runs.map(rate), baseRates).toFixed(2) },
      {
        heading: 'µs CPU/message',
        show: ([, runs]) => of(runs, ({ cpuMicroseconds }) => cpuMicroseconds).toFixed(1),
      },
      { heading: 'of PostgreSQL', show: ([, runs]) => of(runs, server).toFixed(1) },
      {
        heading: 'round trips/message',
        show: ([, runs]) => of(runs, (run) => run.roundTrips / run.messages).toFixed(4),
      },
      {
        heading: 'rows/statement',
        show: ([, runs]) => of(runs, (run) => run.rowsWritten / run.statements).toFixed(1),
      },
    ],
  )
}
