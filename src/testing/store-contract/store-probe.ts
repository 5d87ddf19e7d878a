import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TopicPartition } from '../../ports/broker.ts'
import type {
  CommitResult,
  LedgerChange,
  LedgerRow,
  OffsetRange,
  StateChange,
  StateRow,
  Store,
} from '../../ports/store.ts'

/** A test that works on one store, under a service name of its own. */
export type StoreTest = (probe: StoreProbe) => Promise<void>

/** A test that opens and closes stores on the same data. */
export type StoresTest = (newStore: () => Store) => Promise<void>

/** A partition to acquire; tests that do not care which topic of its name it is leave the id out. */
type AskedPartition = TopicPartition & { readonly topicId?: string }

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

  load(...keys: readonly (Buffer | string)[]): Promise<readonly StateRow[]> {
    return this.store.load(this.service, keys.map(toBytes))
  }

  async loadOne(key: Buffer | string): Promise<StateRow> {
    const [row] = await this.load(key)
    assert.ok(row)
    return row
  }

  commit(
    states: readonly StateChange[],
    ledger: readonly LedgerChange[] = [],
  ): Promise<CommitResult> {
    return this.store.commit({ service: this.service, states, ledger })
  }

  /** Commits, expects that it worked, and returns the versions. */
  async committed(
    states: readonly StateChange[],
    ledger: readonly LedgerChange[] = [],
  ): Promise<readonly number[]> {
    const result = await this.commit(states, ledger)
    assert.ok(
      result.outcome === 'committed',
      `expected the unit to be committed, but: ${result.outcome}`,
    )
    assert.equal(result.versions.length, states.length, 'a version for each state')
    return result.versions
  }

  /** Writes one key and returns its new version. */
  async put(key: Buffer | string, value: Buffer | string | null, version: number): Promise<number> {
    const [written] = await this.committed([change(key, value, version)])
    return written as number
  }
}

export function freshName(): string {
  return `contract-${randomUUID()}`
}

export function change(
  key: Buffer | string,
  value: Buffer | string | null,
  version: number,
): StateChange {
  return { key: toBytes(key), value: value === null ? null : toBytes(value), version }
}

/** The progress of an acquired partition. */
export function progress(
  { topic, partition, epoch }: LedgerRow,
  next: number,
  settled: readonly OffsetRange[] = [],
): LedgerChange {
  return { topic, partition, epoch, next, settled }
}

function toBytes(value: Buffer | string): Buffer {
  return typeof value === 'string' ? Buffer.from(value) : value
}
