import type { LedgerRow } from '../../ports/store.ts'
import {
  change,
  mark,
  noState,
  outputsOf,
  progress,
  record,
  type StoreProbe,
  stateRow,
  type UnitParts,
} from './store-probe.ts'

const partitions = [
  { topic: 'orders', partition: 0 },
  { topic: 'orders', partition: 1 },
  { topic: 'prices', partition: 0 },
]
const keys = ['added', 'changed', 'guarded', 'removed']
const asked = ['a-new', 'm-there', 'z-new'].map((id) => mark(id))

/** What the store has of all that a scene's unit changes. */
type Sight = Readonly<Record<string, unknown>>

/**
 * Something of each kind in the store, and a unit that changes all of it: for tests of units of
 * which nothing may be written.
 */
export interface Scene {
  readonly unit: Required<UnitParts>
  readonly before: Sight
  /** What is to be seen when the unit was committed with these versions. */
  after(versions: readonly number[]): Sight
  /** Looks at it, which takes the partitions over. */
  look(): Promise<Sight>
}

export async function setScene(probe: StoreProbe): Promise<Scene> {
  const [first, second] = await probe.acquire(...partitions.slice(0, 2))
  const versions = await probe.committed({
    marks: [mark('m-there')],
    states: [
      change('changed', 'before', 0, 'old'),
      change('guarded', null, 0, 'old'),
      change('removed', 'before', 0),
    ],
    ledger: [
      progress(first as LedgerRow, 5, {
        settled: [{ from: 7, to: 8 }],
        outputs: [record('o0 before')],
      }),
      progress(second as LedgerRow, 20, { outputs: [record('o1 before')] }),
    ],
  })
  // Acquired once more, so that there is an older epoch that was in force once.
  const rows = await probe.acquire(...partitions)
  return {
    unit: unitOn(rows, versions),
    before: await sight(probe, rows),
    after: (written) => ({
      applied: [true, true, true],
      states: [
        stateRow('after', written[0]),
        stateRow('after', written[1], 'new'),
        stateRow(null, written[2], 'new'),
        noState,
      ],
      ledger: [
        { unit: 2, next: 9, settled: [], outputs: [[2, ['o0 after']]] },
        {
          unit: 2,
          next: 30,
          settled: [{ from: 32, to: 33 }],
          outputs: [
            [1, ['o1 before']],
            [2, ['o1 after']],
          ],
        },
        { unit: 1, next: 1, settled: [], outputs: [[1, ['p0 after']]] },
      ],
    }),
    look: async () => sight(probe, await probe.acquire(...partitions)),
  }
}

function unitOn(rows: readonly LedgerRow[], versions: readonly number[]): Required<UnitParts> {
  const [first, second, third] = rows as readonly [LedgerRow, LedgerRow, LedgerRow]
  const [changed, guarded, removed] = versions as readonly [number, number, number]
  return {
    marks: [mark('z-new'), mark('a-new')],
    states: [
      change('added', 'after', 0),
      change('changed', 'after', changed, 'new'),
      change('guarded', null, guarded, 'new'),
      change('removed', null, removed),
    ],
    ledger: [
      progress(first, 9, { outputs: [record('o0 after')], acknowledged: 1 }),
      progress(second, 30, {
        outputs: [record('o1 after')],
        settled: [{ from: 32, to: 33 }],
      }),
      progress(third, 1, { outputs: [record('p0 after')] }),
    ],
  }
}

async function sight(probe: StoreProbe, rows: readonly LedgerRow[]): Promise<Sight> {
  return {
    applied: await probe.applied(...asked),
    states: await probe.load(...keys),
    ledger: rows.map((row) => ({
      unit: row.unit,
      next: row.next,
      settled: row.settled,
      outputs: outputsOf(row),
    })),
  }
}
