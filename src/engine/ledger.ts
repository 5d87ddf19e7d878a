import { PolluxError } from '../errors.ts'
import type { BrokerAdmin, LogRange, TopicPartition } from '../ports/broker.ts'
import type { Logger } from '../ports/logger.ts'
import type { LedgerRow, Store } from '../ports/store.ts'

/** What taking over in the store needs of its surroundings. */
export interface LedgerParts {
  readonly store: Store
  readonly admin: BrokerAdmin
  readonly service: string
  readonly logger: Logger
}

/**
 * Takes partitions over in the store.
 * @throws POLLUX_OFFSET_RESET when the row is of another topic of that name (made anew, or on another cluster). Going on
 * would either skip records or repeat effects.
 */
export async function acquireLedger(
  { store, admin, service }: Pick<LedgerParts, 'store' | 'admin' | 'service'>,
  partitions: readonly TopicPartition[],
): Promise<readonly LedgerRow[]> {
  if (partitions.length === 0) return []
  const topics = [...new Set(partitions.map(({ topic }) => topic))]
  const ids = await admin.topicIds(topics)
  const wanted = partitions.map(({ topic, partition }) => {
    return { topic, partition, topicId: ids.get(topic) ?? '' }
  })
  const rows = await store.acquire(service, wanted)
  const foreign = rows.find(({ topicId }, index) => topicId !== wanted[index]?.topicId)
  if (foreign !== undefined) throw foreignTopic(foreign, store.name)
  return rows
}

/**
 * Work starts where the ledger says, so that has to be a place in the log; what retention took is passed over.
 * @throws POLLUX_OFFSET_RESET when it lies behind the log's end.
 */
export async function fitToLogs(
  { store, admin, logger }: Pick<LedgerParts, 'store' | 'admin' | 'logger'>,
  rows: readonly LedgerRow[],
): Promise<readonly LedgerRow[]> {
  if (rows.every(({ next }) => next === undefined)) return rows
  const ranges = await admin.ranges([...new Set(rows.map(({ topic }) => topic))])
  return rows.map((row) => {
    const range = ranges.find(
      ({ topic, partition }) => topic === row.topic && partition === row.partition,
    )
    return range === undefined ? row : fitted(row, range, store.name, logger)
  })
}

const hint =
  'Use the store that belongs to this broker (pollux run: another --folder or --schema), or give the service another name.'

function foreignTopic({ topic }: LedgerRow, store: string): PolluxError {
  return new PolluxError(
    'POLLUX_OFFSET_RESET',
    `The store knows another topic of the name ${topic}: it was made anew, or this is another broker.`,
    {
      expected: 'the topic that the positions and the state in the store are of',
      found: store,
      hint,
    },
  )
}

function fitted(
  row: LedgerRow,
  { earliest, latest }: LogRange,
  store: string,
  logger: Logger,
): LedgerRow {
  const { topic, partition, next } = row
  if (next === undefined) return row
  if (next > latest) {
    throw new PolluxError(
      'POLLUX_OFFSET_RESET',
      `The store's position in ${topic}/${partition} lies behind the end of the log.`,
      { expected: `a position up to ${latest}`, found: `${next} in ${store}`, hint },
    )
  }
  if (next >= earliest) return row
  logger.warn(
    { topic, partition, missed: earliest - next },
    'records were deleted by retention before the service could read them',
  )
  return { ...row, next: earliest }
}
