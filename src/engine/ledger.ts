import { PolluxError } from '../errors.ts'
import type { BrokerAdmin, LogRange, TopicPartition } from '../ports/broker.ts'
import type { Logger } from '../ports/logger.ts'
import type { LedgerRow, Store } from '../ports/store.ts'

/**
 * Takes partitions over in the store. Work starts where the ledger says, so that has to be a place in the log.
 * @throws POLLUX_OFFSET_RESET when it lies behind the log's end: the topic was made anew, or the store belongs to
 * another cluster. Going on would either skip records or repeat effects.
 */
export async function acquireLedger(
  {
    store,
    admin,
    service,
    logger,
  }: {
    readonly store: Store
    readonly admin: BrokerAdmin
    readonly service: string
    readonly logger: Logger
  },
  partitions: readonly TopicPartition[],
): Promise<readonly LedgerRow[]> {
  const rows = await store.acquire(service, partitions)
  if (rows.every(({ next }) => next === undefined)) return rows
  const ranges = await admin.ranges([...new Set(rows.map(({ topic }) => topic))])
  return rows.map((row) => {
    const range = ranges.find(
      ({ topic, partition }) => topic === row.topic && partition === row.partition,
    )
    return range === undefined ? row : fitted(row, range, store.name, logger)
  })
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
    throw new PolluxError('POLLUX_OFFSET_RESET', `The ledger is ahead of ${topic}/${partition}.`, {
      expected: `a position up to ${latest}, where the log ends`,
      found: `${next} in ${store}`,
      hint: 'Was the topic made anew, or is this another cluster? Use the store that belongs to it, or another service name.',
    })
  }
  if (next >= earliest) return row
  logger.warn(
    { topic, partition, missed: earliest - next },
    'records were deleted by retention before the service could read them',
  )
  return { ...row, next: earliest }
}
