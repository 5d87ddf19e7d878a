import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isInRanges } from '../../src/engine/offsets.ts'
import type { Work } from '../../src/engine/partition.ts'
import { StateCells } from '../../src/engine/state-cells.ts'
import { buildUnit } from '../../src/engine/unit.ts'
import type { OutgoingRecord } from '../../src/ports/broker.ts'
import { partitionOf, workOf } from './works.ts'

const recordOf = (value: string): OutgoingRecord => ({
  topic: 'output',
  partition: undefined,
  key: null,
  value: Buffer.from(value),
  headers: [],
  timestamp: undefined,
})

/** Messages of two partitions that have finished in some order, and what each left. */
const histories = fc
  .array(
    fc.record({
      partition: fc.nat(1),
      key: fc.constantFrom('a', 'b', 'c'),
      changes: fc.boolean(),
      isApplied: fc.boolean(),
      hasMark: fc.boolean(),
      outputs: fc.nat(2),
    }),
    { minLength: 1, maxLength: 30 },
  )
  .chain((messages) =>
    fc.record({
      messages: fc.constant(messages),
      finished: fc.shuffledSubarray(
        messages.map((_, index) => index),
        { minLength: 1 },
      ),
    }),
  )

type History = typeof histories extends fc.Arbitrary<infer T> ? T : never

/** The messages of a history, in the order in which they finished. */
function worksOf({ messages, finished }: History): Work[] {
  const partitions = [partitionOf(0), partitionOf(1)]
  const cells = new StateCells()
  const counts = [0, 0]
  const works = messages.map(({ partition: index, key, hasMark, isApplied, outputs }, n) => {
    const partition = partitions[index]
    const offset = counts[index] ?? 0
    counts[index] = offset + 1
    assert.ok(partition)
    const work = workOf(partition, offset, { key: Buffer.from(key) })
    assert.ok(work.effects)
    work.effects.cell = cells.take(key, Buffer.from(key)).cell
    if (hasMark) work.effects.mark = Buffer.from(`event ${n}`)
    work.effects.isApplied = hasMark && isApplied
    work.outputs = Array.from({ length: outputs }, (_, each) => recordOf(`${n}.${each}`))
    return work
  })
  return finished.map((index) => {
    const work = works[index]
    assert.ok(work?.effects?.cell)
    if (messages[index]?.changes === true) {
      work.effects.cell.value = Buffer.from(`after ${index}`)
      work.effects.change = { value: work.effects.cell.value, guard: null }
    }
    return work
  })
}

test('a unit holds each mark, key and partition once, with what its last message made of it', () => {
  fc.assert(
    fc.property(histories, (history) => {
      const works = worksOf(history)
      const { unit, parts } = buildUnit('service', works, true)
      const marks = works.filter(({ effects }) => effects?.mark !== undefined && !effects.isApplied)
      assert.deepEqual(
        unit.marks.map(({ id }) => String(id)),
        marks.map(({ effects }) => String(effects?.mark)),
      )
      const changed = new Map(
        works.flatMap(({ effects }) =>
          effects?.change === undefined
            ? []
            : [[effects.cell?.name, String(effects.change.value)] as const],
        ),
      )
      assert.deepEqual(
        new Map(unit.states.map(({ key, value }) => [String(key), String(value)])),
        changed,
      )
      assert.equal(unit.states.length, changed.size)
      assert.equal(new Set(unit.ledger.map(({ partition }) => partition)).size, parts.length)
    }),
  )
})

test('R1: the ledger of a unit says exactly which messages of a partition have had their effect', () => {
  fc.assert(
    fc.property(histories, (history) => {
      const works = worksOf(history)
      const { unit } = buildUnit('service', works, true)
      for (const { partition, next, settled } of unit.ledger) {
        const own = works.filter((work) => work.partition.partition === partition)
        const count = history.messages.filter((message) => message.partition === partition).length
        for (let offset = 0; offset < count; offset += 1)
          assert.equal(
            offset < next || isInRanges(offset, settled),
            own.some((work) => work.offset === offset),
            `${partition}/${offset}`,
          )
      }
    }),
  )
})

test('outputs are stored in the order in which their messages finished, or not at all', () => {
  fc.assert(
    fc.property(histories, fc.boolean(), (history, storesOutputs) => {
      const works = worksOf(history)
      const { unit, parts } = buildUnit('service', works, storesOutputs)
      for (const { partition, outputs } of unit.ledger) {
        const own = works.filter((work) => work.partition.partition === partition)
        const expected = storesOutputs ? own.flatMap((work) => work.outputs) : []
        assert.deepEqual(outputs, expected)
        const withOutputs = own.filter((work) => work.outputs.length > 0)
        const part = parts.find((one) => one.partition.partition === partition)
        if (storesOutputs && withOutputs.length > 0)
          assert.equal(part?.lowest, Math.min(...withOutputs.map(({ offset }) => offset)))
      }
    }),
  )
})
