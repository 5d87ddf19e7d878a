import { PolluxError, shown } from '../errors.ts'
import type { Position } from '../ports/broker.ts'
import { comparePartitions } from './partition-key.ts'

/** By topic and partition. */
export function sortedPositions(positions: Iterable<Position>): Position[] {
  return [...positions].toSorted(comparePartitions)
}

/** @throws POLLUX_OFFSET_UNSAFE for what is not a whole number from 0 to 2^53 - 1. */
export function checkPositions(positions: readonly Position[]): void {
  for (const { topic, partition, offset } of positions) {
    if (Number.isSafeInteger(offset) && offset >= 0) continue
    throw new PolluxError(
      'POLLUX_OFFSET_UNSAFE',
      `This is not an offset of ${topic}/${partition}.`,
      {
        expected: 'a whole number from 0 to 2^53 - 1',
        found: shown(offset),
      },
    )
  }
}
