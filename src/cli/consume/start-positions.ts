import type { BrokerAdmin, LogRange, Position } from '../../ports/broker.ts'
import type { StartPosition } from './parse-from.ts'

/** The position to begin at in each partition, within what the log holds. `now` is in milliseconds since 1970. */
export async function startPositions(
  admin: BrokerAdmin,
  ranges: readonly LogRange[],
  from: StartPosition,
  now: number,
): Promise<readonly Position[]> {
  const topic = ranges[0]?.topic
  if (topic === undefined) return []
  if (from.kind === 'ago' || from.kind === 'time') {
    const timestamp = from.kind === 'ago' ? Math.max(0, Math.floor(now - from.ms)) : from.timestamp
    const found = await admin.offsetsAt(topic, timestamp)
    return ranges.map((range) => {
      const offset = found.find(({ partition }) => partition === range.partition)?.offset
      return positionIn(range, offset ?? range.latest)
    })
  }
  return ranges.map((range) => positionIn(range, wantedOffset(range, from)))
}

function wantedOffset(
  { earliest, latest }: LogRange,
  from: Exclude<StartPosition, { readonly kind: 'ago' | 'time' }>,
): number {
  if (from.kind === 'earliest') return earliest
  if (from.kind === 'latest') return latest
  return from.kind === 'last' ? latest - from.count : from.offset
}

function positionIn({ topic, partition, earliest, latest }: LogRange, offset: number): Position {
  return { topic, partition, offset: Math.min(latest, Math.max(earliest, offset)) }
}
