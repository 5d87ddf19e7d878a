import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isInRanges, OffsetTracker } from '../../src/engine/offsets.ts'

/** Fetched offsets with gaps, and the order in which they settle. */
const histories = fc.uniqueArray(fc.nat(5_000), { minLength: 1, maxLength: 300 }).chain((offsets) =>
  fc.record({
    offsets: fc.constant(offsets.toSorted((a, b) => a - b)),
    order: fc.shuffledSubarray(offsets.map((_, index) => index)),
  }),
)

interface Entry {
  readonly offset: number
  readonly place: number
  isSettled: boolean
}

function fetched(tracker: OffsetTracker, offsets: readonly number[]): Entry[] {
  return offsets.map((offset) => ({ offset, place: tracker.add(offset), isSettled: false }))
}

function settle(tracker: OffsetTracker, entry: Entry | undefined): void {
  assert.ok(entry)
  entry.isSettled = true
  tracker.settle(entry.place)
}

test('the position never passes a record that is not settled, and reaches the end when all are', () => {
  fc.assert(
    fc.property(histories, ({ offsets, order }) => {
      const tracker = new OffsetTracker(0)
      const entries = fetched(tracker, offsets)
      for (const index of order) {
        settle(tracker, entries[index])
        const firstOpen = entries.findIndex(({ isSettled }) => !isSettled)
        assert.equal(tracker.position, entries[firstOpen]?.offset ?? (offsets.at(-1) ?? 0) + 1)
        assert.equal(tracker.ahead, firstOpen === -1 ? 0 : entries.length - firstOpen)
      }
    }),
  )
})

test('position and ranges together tell exactly which records are settled', () => {
  fc.assert(
    fc.property(histories, ({ offsets, order }) => {
      const tracker = new OffsetTracker(0)
      const entries = fetched(tracker, offsets)
      for (const index of order.slice(0, order.length / 2)) settle(tracker, entries[index])
      const ranges = tracker.settledAbove()
      for (const { offset, isSettled } of entries) {
        assert.equal(
          offset < tracker.position || isInRanges(offset, ranges),
          isSettled,
          `offset ${offset}`,
        )
      }
      for (const [index, { from }] of ranges.entries()) {
        assert.ok(
          from > (ranges[index - 1]?.to ?? tracker.position),
          'ranges ascend and do not touch',
        )
      }
    }),
  )
})

test('a tracker of which nothing was fetched stays at its start', () => {
  assert.equal(new OffsetTracker(41).position, 41)
  assert.deepEqual(new OffsetTracker(41).settledAbove(), [])
})

test('records that settle late are found after the settled ones before them are forgotten', () => {
  const tracker = new OffsetTracker(0)
  const early = Array.from({ length: 5_000 }, (_, offset) => tracker.add(offset))
  const late = tracker.add(5_000)
  for (const place of early) tracker.settle(place)
  assert.equal(tracker.position, 5_000)
  tracker.settle(tracker.add(5_001))
  assert.equal(tracker.ahead, 2)
  tracker.settle(late)
  assert.deepEqual([tracker.position, tracker.ahead], [5_002, 0])
})
