import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Change, type FoldRules, fold, type Known, type Step } from '../../src/rows/fold.ts'

/** A record, as the property makes it up. */
interface Given {
  readonly row: string
  readonly cells: readonly (string | null | undefined)[] | undefined
  readonly version: number
}

interface Mode {
  readonly name: string
  readonly isVersioned: boolean
  readonly rules: FoldRules
  readonly deletes: boolean
}

type Row = Map<number, string | null>

/** A table with its versions in it and beside it, which does steps as a database does. */
class Table {
  readonly rows = new Map<string, { cells: Row; versions: (number | undefined)[] }>()
  readonly notes = new Map<string, Known>()
  readonly #mode: Mode

  constructor(mode: Mode) {
    this.#mode = mode
  }

  write(changes: readonly Change[]): void {
    const { rules } = this.#mode
    for (const [row, own] of Map.groupBy(changes, (change) => change.row)) {
      const known = rules.isNoted ? this.notes.get(row) : undefined
      const { steps, known: latest } = fold(own, rules, known)
      for (const step of steps) this.do(row, step)
      if (rules.isNoted && steps.length > 0 && latest !== undefined) this.notes.set(row, latest)
    }
  }

  do(row: string, step: Step): void {
    const { groups, isGuardedThere } = this.#mode.rules
    const there = this.rows.get(row)
    const isFree = (group: number): boolean =>
      !isGuardedThere || !(Number(there?.versions[group]) > Number(step.versions[group]))
    if (step.kind === 'delete') {
      if (groups.every((_, group) => isFree(group))) this.rows.delete(row)
      return
    }
    const next = there ?? { cells: new Map(), versions: groups.map(() => undefined) }
    for (const [group, columns] of groups.entries()) {
      if (!isFree(group)) continue
      for (const column of columns) {
        const cell = step.cells[column] as string | null | undefined
        if (cell !== undefined) next.cells.set(column, cell)
      }
      if (step.versions[group] !== undefined) next.versions[group] = Number(step.versions[group])
    }
    this.rows.set(row, next)
  }

  get content(): unknown {
    return [...this.rows].map(([row, { cells }]) => [row, [...cells].sort()]).sort()
  }
}

const one = [[0, 1]]
const two = [[0], [1]]
const modes: readonly Mode[] = [
  {
    name: 'the order of the log',
    isVersioned: false,
    deletes: true,
    rules: rules(one, false, false),
  },
  {
    name: 'versions in a column',
    isVersioned: true,
    deletes: false,
    rules: rules(one, true, false),
  },
  {
    name: 'versions in two columns',
    isVersioned: true,
    deletes: false,
    rules: rules(two, true, false),
  },
  {
    name: 'versions beside the table',
    isVersioned: true,
    deletes: true,
    rules: rules(one, false, true),
  },
  {
    name: 'versions of two groups beside it',
    isVersioned: true,
    deletes: true,
    rules: rules(two, false, true),
  },
]

function rules(groups: readonly number[][], isGuardedThere: boolean, isNoted: boolean): FoldRules {
  return { groups, isGuardedThere, isNoted }
}

const cell = fc.oneof(fc.constantFrom('x', 'y', 'z'), fc.constant(null), fc.constant(undefined))
const record = (deletes: boolean): fc.Arbitrary<Given> =>
  fc.record({
    row: fc.constantFrom('a', 'b'),
    cells: deletes
      ? fc.oneof({ weight: 3, arbitrary: fc.tuple(cell, cell) }, fc.constant(undefined))
      : fc.tuple(cell, cell),
    version: fc.integer({ min: 0, max: 4 }),
  })

function changeOf({ row, cells, version }: Given, offset: number, mode: Mode): Change {
  const position = { topic: 't', partition: 0, offset: BigInt(offset) }
  const versions = mode.rules.groups.map(() => (mode.isVersioned ? version : undefined))
  return { place: offset, row, rough: row, key: [row], cells, versions, position }
}

for (const mode of modes) {
  test(`batches, repeated ones among them, come to what one record after the other does: ${mode.name}`, () => {
    fc.assert(
      fc.property(
        fc.array(record(mode.deletes), { minLength: 1, maxLength: 12 }),
        fc.array(fc.record({ size: fc.integer({ min: 1, max: 6 }), back: fc.nat({ max: 5 }) })),
        (given, plan) => {
          const log = given.map((one, offset) => changeOf(one, offset, mode))
          const straight = new Table(mode)
          for (const change of log) straight.write([change])

          const batched = new Table(mode)
          let next = 0
          for (const { size, back } of plan) {
            batched.write(log.slice(next, next + size))
            // A crash: some of what was written is delivered once more.
            next = Math.max(0, Math.min(log.length, next + size) - back)
          }
          batched.write(log.slice(next))
          assert.deepEqual(batched.content, straight.content)
        },
      ),
      { numRuns: 3_000 },
    )
  })
}

test('a delete without a version is newer than all before it, and nothing older comes back', () => {
  const table = new Table(modes[3] as Mode)
  const mode = modes[3] as Mode
  const put = (version: number, offset: number): Change =>
    changeOf({ row: 'a', cells: ['x', 'x'], version }, offset, mode)
  const gone = { ...put(0, 1), cells: undefined, versions: [undefined] }
  table.write([put(5, 0), gone])
  table.write([put(4, 2)])
  assert.deepEqual(table.content, [])
  table.write([put(6, 3), { ...gone, place: 1 }])
  assert.equal(table.rows.size, 1, 'the delete was there already')
})

test('versions are compared exactly, numbers and bigints alike', () => {
  const table = new Table(modes[3] as Mode)
  const mode = modes[3] as Mode
  const put = (version: bigint | number, offset: number, value: string): Change => ({
    ...changeOf({ row: 'a', cells: [value, undefined], version: 0 }, offset, mode),
    versions: [version],
  })
  table.write([put(9007199254740993n, 0, 'new')])
  table.write([put(9007199254740992n, 1, 'old'), put(9007199254740992, 2, 'old')])
  assert.deepEqual(table.content, [['a', [[0, 'new']]]])
})
