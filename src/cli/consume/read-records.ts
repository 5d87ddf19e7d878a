import type { RawMessage } from '../../message.ts'
import type { Broker, BrokerReader, LogRange, Position } from '../../ports/broker.ts'
import type { Logger } from '../../ports/logger.ts'

export interface ReadOptions {
  readonly broker: Broker
  readonly positions: readonly Position[]
  /** Where to end; undefined goes on for ever. */
  readonly ends: readonly LogRange[] | undefined
  readonly limit: number
  readonly stop: AbortSignal
  readonly logger: Logger
  /**
   * How long nothing may come, while there should be more, until the broker is asked whether it is still there. In
   * milliseconds. Default 5,000.
   */
  readonly idleLimit?: number
  write(records: readonly RawMessage[]): Promise<void>
}

const pollSize = 500
const defaultIdleLimit = 5_000

/** Reads from the positions to the ends, the limit or the stop, whichever comes first. */
export async function readRecords(options: ReadOptions): Promise<void> {
  const { broker, positions, limit, stop, idleLimit = defaultIdleLimit, write } = options
  const left = new Map(positions.map(({ partition, offset }) => [partition, offset]))
  const hasMore = (): boolean => unread(options, left).length > 0
  if (positions.length === 0 || !hasMore() || stop.aborted) return
  const reader = await broker.reader(options.ends === undefined ? positions : unread(options, left))
  // Closing ends a poll that waits. Racing each poll against one promise would add to that promise for ever.
  const close = (): void => void reader.close().catch(() => {})
  stop.addEventListener('abort', close)
  try {
    let count = 0
    let lastRecord = Date.now()
    while (!stop.aborted && count < limit && hasMore()) {
      const polled = await pollUnlessStopped(reader, Math.min(pollSize, limit - count), stop)
      const records = polled.filter(({ partition, offset }) => offset < endOf(options, partition))
      for (const { partition, offset } of polled) left.set(partition, offset + 1)
      if (records.length > 0) await write(records)
      count += records.length
      if (polled.length > 0) lastRecord = Date.now()
      else if (options.ends !== undefined && Date.now() - lastRecord > idleLimit)
        return await endEarly(options, left)
    }
  } finally {
    stop.removeEventListener('abort', close)
    await reader.close()
  }
}

async function pollUnlessStopped(
  reader: BrokerReader,
  max: number,
  stop: AbortSignal,
): Promise<readonly RawMessage[]> {
  try {
    return await reader.poll(max)
  } catch (error) {
    if (stop.aborted) return []
    throw error
  }
}

function endOf({ ends }: ReadOptions, partition: number): number {
  if (ends === undefined) return Number.POSITIVE_INFINITY
  return ends.find((range) => range.partition === partition)?.latest ?? 0
}

function unread(options: ReadOptions, left: ReadonlyMap<number, number>): Position[] {
  return options.positions
    .map((position) => ({ ...position, offset: left.get(position.partition) ?? position.offset }))
    .filter(({ partition, offset }) => offset < endOf(options, partition))
}

/**
 * The last offsets of a log may belong to no record: Kafka's own marks of transactions, or records that compaction
 * took away. So a wait without end would be wrong; that the broker still answers tells this from an outage.
 */
async function endEarly(options: ReadOptions, left: ReadonlyMap<number, number>): Promise<void> {
  const places = unread(options, left)
  await options.broker.admin.ranges([...new Set(places.map(({ topic }) => topic))])
  const list = places.map(
    (place) =>
      `${place.topic}/${place.partition} at ${place.offset} of ${endOf(options, place.partition)}`,
  )
  options.logger.warn(
    {},
    `no record came any more; ended before the end of the log: ${list.join(', ')}; ` +
      'with transactions or compaction the last offsets hold no record',
  )
}
