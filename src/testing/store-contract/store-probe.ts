import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { OutgoingRecord, TopicPartition } from '../../ports/broker.ts'
import type {
  CommitResult,
  LedgerChange,
  LedgerRow,
  Mark,
  StateChange,
  StateRow,
  Store,
  Unit,
} from '../../ports/store.ts'

/** A test that works on one store, under a service name of its own. */
export type StoreTest = (probe: StoreProbe) => Promise<void>

/** A test that opens and closes stores on the same data. */
export type StoresTest = (newStore: () => Store) => Promise<void>

/** A partition to acquire; tests that do not care which topic of its name it is leave the id out. */
export type AskedPartition = TopicPartition & { readonly topicId?: string }

/** A mark to ask for: its topic and id. */
export type AskedMark = Pick<Mark, 'topic' | 'id'>

/** A unit of the probe's service; what a test leaves out is empty. */
export type UnitParts = Partial<Omit<Unit, 'service'>>

/** One store as one service uses it, with short words for what tests do. */
export class StoreProbe {
  readonly store: Store
  readonly service: string

  constructor(store: Store, service: string = freshName()) {
    this.store = store
    this.service = service
  }

  static async open(store: Store, service?: string): Promise<StoreProbe> {
    await store.open()
    return new StoreProbe(store, service)
  }

  /** The same store for another service. */
  renamed(service: string = freshName()): StoreProbe {
    return new StoreProbe(this.store, service)
  }

  acquire(...partitions: readonly AskedPartition[]): Promise<readonly LedgerRow[]> {
    return this.store.acquire(
      this.service,
      partitions.map((partition) => ({ topicId: 'first', ...partition })),
    )
  }

  async acquireOne(partition: AskedPartition): Promise<LedgerRow> {
    const [row] = await this.acquire(partition)
    assert.ok(row)
    return row
  }

  async load(...keys: readonly (Buffer | string)[]): Promise<readonly StateRow[]> {
    const { states } = await this.store.load(this.service, keys.map(toBytes), [])
    return states
  }

  async loadOne(key: Buffer | string): Promise<StateRow> {
    const [row] = await this.load(key)
    assert.ok(row)
    return row
  }

  async applied(...marks: readonly AskedMark[]): Promise<readonly boolean[]> {
    const { applied } = await this.store.load(this.service, [], marks)
    return applied
  }

  /** The unit as the store takes it. */
  unit({ marks = [], states = [], ledger = [] }: UnitParts): Unit {
    return { service: this.service, marks, states, ledger }
  }

  commit(unit: UnitParts): Promise<CommitResult> {
    return this.store.commit(this.unit(unit))
  }

  /** Commits, expects that it worked, and returns the versions. */
  async committed(unit: UnitParts): Promise<readonly number[]> {
    return versionsOf(unit, await this.commit(unit))
  }

  /** Writes one key and returns its new version. */
  async put(key: Buffer | string, value: Buffer | string | null, version: number): Promise<number> {
    const [written] = await this.committed({ states: [change(key, value, version)] })
    return written as number
  }
}

/** Expects that the unit was committed. */
export function versionsOf({ states = [] }: UnitParts, result: CommitResult): readonly number[] {
  assert.ok(
    result.outcome === 'committed',
    `expected the unit to be committed, but: ${result.outcome}`,
  )
  assert.equal(result.versions.length, states.length, 'a version for each state')
  return result.versions
}

export function freshName(): string {
  return `contract-${randomUUID()}`
}

export function change(
  key: Buffer | string,
  value: Buffer | string | null,
  version: number,
  guard: string | null = null,
): StateChange {
  return { key: toBytes(key), value: value === null ? null : toBytes(value), version, guard }
}

/** The row of a key as `load` should give it. */
export function stateRow(
  value: Buffer | string | null,
  version: number | undefined,
  guard: string | null = null,
): StateRow {
  assert.ok(version !== undefined)
  return { value: value === null ? null : toBytes(value), version, guard }
}

/** What `load` should give for a key that has no row. */
export const noState: StateRow = { value: null, version: 0, guard: null }

/** The progress of an acquired partition; without outputs, and acknowledging nothing, if not said. */
export function progress(
  { topic, partition, epoch, unit }: LedgerRow,
  next: number,
  rest: Partial<Pick<LedgerChange, 'settled' | 'outputs' | 'acknowledged'>> = {},
): LedgerChange {
  const none = { settled: [], outputs: [], acknowledged: undefined }
  return { topic, partition, epoch, unit, next, ...none, ...rest }
}

/** The row as its owner knows it when so many of its units were committed since. */
export function later(row: LedgerRow, units = 1): LedgerRow {
  return { ...row, unit: row.unit + units }
}

/** Says that the event of that id was applied; it lay at the start of `orders/0` if not said. */
export function mark(id: Buffer | string, rest: Partial<Omit<Mark, 'id'>> = {}): Mark {
  return { topic: 'orders', partition: 0, offset: 0, ...rest, id: toBytes(id) }
}

/** A record to be published. */
export function record(value: string, rest: Partial<OutgoingRecord> = {}): OutgoingRecord {
  return {
    topic: 'invoices',
    partition: undefined,
    key: Buffer.from('key'),
    value: Buffer.from(value),
    headers: [],
    timestamp: undefined,
    ...rest,
  }
}

/** The values of a row's stored outputs, by unit: what most tests of outputs look at. */
export function outputsOf({ unpublished }: LedgerRow): readonly (readonly [number, string[]])[] {
  return unpublished.map(({ unit, records }) => [unit, records.map(({ value }) => `${value}`)])
}

function toBytes(value: Buffer | string): Buffer {
  return typeof value === 'string' ? Buffer.from(value) : value
}
