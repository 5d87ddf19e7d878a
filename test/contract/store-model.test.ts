import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { connectPglite } from '../../src/embedded/pglite/pglite-connection.ts'
import type { LedgerRow, OffsetRange, Store, Unit } from '../../src/ports/store.ts'
import type { SqlConnection } from '../../src/sql/sql.ts'
import { SqlStore } from '../../src/sql/sql-store.ts'
import { MemoryStoreData, memoryStore } from '../../src/testing/memory-store.ts'

// Two owners take partitions from each other, load keys, and commit what they know, which may be
// out of date. A model of two maps says what must come of it. Values and positions are drawn,
// versions and epochs are the store's own.

const topic = 't'
const partitions = [0, 1, 2]
const keys = ['', 'a', 'A', 'a\0', 'b'].map((key) => Buffer.from(key))

/** What an owner wants to write to a key: a value, nothing (null), or no change (undefined). */
type Write = string | null | undefined

interface Progress {
  readonly next: number
  readonly settled: readonly OffsetRange[]
}

type Step =
  | { readonly do: 'acquire'; readonly owner: 0 | 1; readonly partitions: readonly number[] }
  | { readonly do: 'load'; readonly owner: 0 | 1; readonly keys: readonly number[] }
  | {
      readonly do: 'commit'
      readonly owner: 0 | 1
      readonly writes: readonly Write[]
      readonly progress: readonly (Progress | undefined)[]
    }

const owner = fc.constantFrom<0 | 1>(0, 1)

const settled: fc.Arbitrary<readonly OffsetRange[]> = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 })), { maxLength: 3 })
  .map((gaps) => {
    let from = 100
    return gaps.map(([gap, length]) => {
      const range = { from: from + gap, to: from + gap + length }
      from = range.to
      return range
    })
  })

const progress: fc.Arbitrary<Progress> = fc.record({ next: fc.nat({ max: 100 }), settled })

const write: fc.Arbitrary<Write> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 3, arbitrary: fc.string({ maxLength: 4 }) },
)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('acquire' as const),
      owner,
      partitions: fc.uniqueArray(fc.constantFrom(...partitions), { minLength: 1 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('load' as const),
      owner,
      keys: fc.array(fc.nat({ max: keys.length - 1 }), { maxLength: 6 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('commit' as const),
      owner,
      writes: fc.array(write, { minLength: keys.length, maxLength: keys.length }),
      progress: fc.array(
        fc.oneof(
          { weight: 3, arbitrary: fc.constant(undefined) },
          { weight: 1, arbitrary: progress },
        ),
        { minLength: partitions.length, maxLength: partitions.length },
      ),
    }),
  },
)

/** What should be in the store. */
class Model {
  readonly states = new Map<number, { readonly value: string; readonly version: number }>()
  readonly ledger = new Map<
    number,
    { epoch: number; next: number | undefined; settled: readonly OffsetRange[] }
  >()
  readonly highest = new Map<number, number>()
}

/** What one owner knows, right or out of date. */
class Knowledge {
  readonly versions = new Map<number, number>()
  readonly rows = new Map<number, LedgerRow>()
}

class Run {
  readonly outcomes: string[] = []
  readonly #stores: readonly [Store, Store]
  readonly #service = randomUUID()
  readonly #model = new Model()
  readonly #owners = [new Knowledge(), new Knowledge()] as const

  constructor(stores: readonly [Store, Store]) {
    this.#stores = stores
  }

  async do(step: Step): Promise<void> {
    if (step.do === 'acquire') await this.#acquire(step)
    else if (step.do === 'load') await this.#load(step)
    else await this.#commit(step)
  }

  async #acquire({ owner, partitions }: Step & { do: 'acquire' }): Promise<void> {
    const rows = await this.#stores[owner].acquire(
      this.#service,
      partitions.map((partition) => ({ topic, partition, topicId: 'id' })),
    )
    assert.equal(rows.length, partitions.length)
    for (const [index, partition] of partitions.entries()) {
      const row = rows[index] as LedgerRow
      const before = this.#model.ledger.get(partition)
      assert.ok(row.epoch > (before?.epoch ?? -1), 'the epoch is higher')
      const { next, settled } = before ?? { next: undefined, settled: [] }
      assert.deepEqual(row, { topic, partition, topicId: 'id', epoch: row.epoch, next, settled })
      this.#model.ledger.set(partition, { epoch: row.epoch, next, settled })
      this.#owners[owner].rows.set(partition, row)
    }
  }

  async #load({ owner, keys: wanted }: Step & { do: 'load' }): Promise<void> {
    const rows = await this.#stores[owner].load(
      this.#service,
      wanted.map((key) => keys[key] as Buffer),
    )
    assert.deepEqual(
      rows.map(({ value, version }) => ({ value: value?.toString(), version })),
      wanted.map((key) => {
        const { value, version } = this.#model.states.get(key) ?? { value: undefined, version: 0 }
        return { value, version }
      }),
    )
    for (const [index, key] of wanted.entries()) {
      this.#owners[owner].versions.set(key, rows[index]?.version as number)
    }
  }

  async #commit(step: Step & { do: 'commit' }): Promise<void> {
    const known = this.#owners[step.owner]
    const written = step.writes.flatMap((value, key) =>
      value === undefined ? [] : [{ key, value }],
    )
    const moved = step.progress.flatMap((progress, partition) => {
      const row = known.rows.get(partition)
      return progress === undefined || row === undefined ? [] : [{ ...row, ...progress }]
    })
    const unit: Unit = {
      service: this.#service,
      states: written.map(({ key, value }) => ({
        key: keys[key] as Buffer,
        value: value === null ? null : Buffer.from(value),
        version: known.versions.get(key) ?? 0,
      })),
      ledger: moved,
    }
    const result = await this.#stores[step.owner].commit(unit)
    const expected = this.#expected(known, written, moved)
    this.outcomes.push(expected)
    assert.equal(result.outcome, expected)
    if (result.outcome !== 'committed') return
    for (const { partition, epoch, next, settled } of moved) {
      this.#model.ledger.set(partition, { epoch, next, settled })
    }
    assert.equal(result.versions.length, written.length)
    for (const [index, { key, value }] of written.entries()) {
      this.#write(key, value, result.versions[index] as number)
      known.versions.set(key, result.versions[index] as number)
    }
  }

  #expected(
    known: Knowledge,
    written: readonly { readonly key: number }[],
    moved: readonly LedgerRow[],
  ): 'committed' | 'conflict' | 'fenced' {
    if (moved.some(({ partition, epoch }) => this.#model.ledger.get(partition)?.epoch !== epoch)) {
      return 'fenced'
    }
    const isStale = ({ key }: { readonly key: number }): boolean =>
      (this.#model.states.get(key)?.version ?? 0) !== (known.versions.get(key) ?? 0)
    return written.some(isStale) ? 'conflict' : 'committed'
  }

  #write(key: number, value: string | null, version: number): void {
    if (value === null) {
      assert.equal(version, 0)
      this.#model.states.delete(key)
      return
    }
    assert.ok(version > (this.#model.highest.get(key) ?? 0), 'a version is never seen twice')
    this.#model.highest.set(key, version)
    this.#model.states.set(key, { value, version })
  }

  /** Compares all there is, also what no step has looked at. */
  async end(): Promise<void> {
    await this.#load({ do: 'load', owner: 0, keys: keys.map((_, key) => key) })
    await this.#acquire({ do: 'acquire', owner: 1, partitions })
  }
}

function checkAgainstModel(name: string, open: () => Promise<readonly [Store, Store]>): void {
  it(`${name} does what the model says in any sequence of steps`, async (t) => {
    const stores = await open()
    const outcomes = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
        async (steps) => {
          const run = new Run(stores)
          for (const one of steps) await run.do(one)
          await run.end()
          for (const outcome of run.outcomes)
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        },
      ),
      { numRuns: 100, verbose: 1 },
    )
    t.diagnostic(JSON.stringify(Object.fromEntries(outcomes)))
    // Otherwise the steps would not have tried what they are there for.
    for (const outcome of ['committed', 'conflict', 'fenced'])
      assert.ok(outcomes.has(outcome), outcome)
  })
}

describe('two owners of one store', () => {
  let database: SqlConnection

  before(async () => {
    database = await connectPglite(undefined)
  })
  after(() => database.close())

  checkAgainstModel('memory', async () => {
    const data = new MemoryStoreData()
    const stores = [memoryStore(data), memoryStore(data)] as const
    for (const store of stores) await store.open()
    return stores
  })

  checkAgainstModel('PGlite', async () => {
    const connect = async (): Promise<SqlConnection> => database
    const options = {
      name: 'test',
      schema: 'pollux',
      newerCode: 'POLLUX_STORE_FAILED',
      connect,
    } as const
    const stores = [new SqlStore(options), new SqlStore(options)] as const
    for (const store of stores) await store.open()
    return stores
  })
})
