import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isInRanges, OffsetTracker, type Tracked } from '../../src/engine/offsets.ts'

/** Fetched offsets with gaps, and the order in which they settle. */
const histories = fc.uniqueArray(fc.nat(5_000), { minLength: 1, maxLength: 300 }).chain((offsets) =>
  fc.record({
    offsets: fc.constant(offsets.toSorted((a, b) => a - b)),
    order: fc.shuffledSubarray(offsets.map((_, index) => index)),
  }),
)

test('the position never passes a record that is not settled, and reaches the end when all are', () => {
  fc.assert(
    fc.property(histories, ({ offsets, order }) => {
      const tracker = new OffsetTracker(0)
      const entries: Tracked[] = offsets.map((offset) => ({ offset, settled: false }))
      for (const entry of entries) tracker.add(entry)
      for (const index of order) {
        const entry = entries[index]
        assert.ok(entry)
        tracker.settle(entry)
        const open = entries.filter(({ settled }) => !settled)
        assert.equal(tracker.position, open[0]?.offset ?? (offsets.at(-1) ?? 0) + 1)
        assert.equal(tracker.open >= open.length, true)
      }
    }),
  )
})

test('position and ranges together tell exactly which records are settled', () => {
  fc.assert(
    fc.property(histories, ({ offsets, order }) => {
      const tracker = new OffsetTracker(0)
      const entries: Tracked[] = offsets.map((offset) => ({ offset, settled: false }))
      for (const entry of entries) tracker.add(entry)
      for (const index of order.slice(0, order.length / 2)) {
        const entry = entries[index]
        if (entry !== undefined) tracker.settle(entry)
      }
      const ranges = tracker.settledAbove()
      for (const { offset, settled } of entries) {
        assert.equal(
          offset < tracker.position || isInRanges(offset, ranges),
          settled,
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

test('memory of settled records is given back', () => {
  const tracker = new OffsetTracker(0)
  for (let offset = 0; offset < 100_000; offset += 1) {
    const entry = { offset, settled: false }
    tracker.add(entry)
    tracker.settle(entry)
  }
  assert.equal(tracker.open, 0)
  assert.equal(tracker.position, 100_000)
})
