import { PolluxError } from '../errors.ts'
import type { TopicPartition } from '../ports/broker.ts'
import type {
  CommitResult,
  LedgerChange,
  LedgerPartition,
  LedgerRow,
  StateChange,
  StateRow,
  Store,
  Unit,
} from '../ports/store.ts'

/**
 * What memory stores keep. Give the same one to several stores to let them see each other, or to
 * outlive one.
 */
export class MemoryStoreData {
  /** By service and partition. */
  readonly ledger: Map<string, LedgerRow> = new Map()
  /** By service and key. */
  readonly states: Map<string, StateRow & { readonly value: Buffer }> = new Map()
  /**
   * Counts for all keys together, so that a key that is removed and comes back never has an old
   * version again.
   */
  lastVersion = 0
}

/** A store in memory, **for tests only**: what it holds is gone with the process. */
export function memoryStore(data: MemoryStoreData = new MemoryStoreData()): Store {
  return new MemoryStore(data)
}

class MemoryStore implements Store {
  readonly name = 'memory'
  readonly #data: MemoryStoreData
  #status: 'not open' | 'open' | 'closed' = 'not open'

  constructor(data: MemoryStoreData) {
    this.#data = data
  }

  async open(): Promise<void> {
    if (this.#status === 'closed') this.#checkOpen()
    this.#status = 'open'
  }

  async acquire(
    service: string,
    partitions: readonly LedgerPartition[],
  ): Promise<readonly LedgerRow[]> {
    this.#checkOpen()
    const { ledger } = this.#data
    const names = partitions.map((partition) => ledgerName(service, partition))
    for (const [index, given] of partitions.entries()) {
      const name = names[index] as string
      if (names.indexOf(name) < index) continue
      const { topic, partition, topicId } = given
      const fresh = { topic, partition, topicId, epoch: 0, next: undefined, settled: [] }
      const row = ledger.get(name) ?? fresh
      ledger.set(name, { ...row, epoch: row.epoch + 1 })
    }
    return names.map((name) => structuredClone(ledger.get(name) as LedgerRow))
  }

  async load(service: string, keys: readonly Buffer[]): Promise<readonly StateRow[]> {
    this.#checkOpen()
    return keys.map((key) => {
      const row = this.#data.states.get(stateName(service, key))
      return row === undefined
        ? { value: null, version: 0 }
        : { ...row, value: Buffer.from(row.value) }
    })
  }

  async commit({ service, states, ledger }: Unit): Promise<CommitResult> {
    this.#checkOpen()
    // All checks come before all writes, and nothing is awaited in between.
    if (!ledger.every((change) => this.#isOwner(service, change))) return { outcome: 'fenced' }
    if (!states.every((change) => this.#isCurrent(service, change))) return { outcome: 'conflict' }
    for (const change of ledger) {
      const name = ledgerName(service, change)
      const row = this.#data.ledger.get(name) as LedgerRow
      this.#data.ledger.set(name, { ...row, ...structuredClone(progressOf(change)) })
    }
    return { outcome: 'committed', versions: states.map((change) => this.#write(service, change)) }
  }

  async close(): Promise<void> {
    this.#status = 'closed'
  }

  #isOwner(service: string, change: LedgerChange): boolean {
    return this.#data.ledger.get(ledgerName(service, change))?.epoch === change.epoch
  }

  #isCurrent(service: string, { key, version }: StateChange): boolean {
    return (this.#data.states.get(stateName(service, key))?.version ?? 0) === version
  }

  #write(service: string, { key, value }: StateChange): number {
    const name = stateName(service, key)
    if (value === null) {
      this.#data.states.delete(name)
      return 0
    }
    this.#data.lastVersion += 1
    const version = this.#data.lastVersion
    this.#data.states.set(name, { value: Buffer.from(value), version })
    return version
  }

  #checkOpen(): void {
    if (this.#status === 'open') return
    throw new PolluxError('POLLUX_STORE_FAILED', `The store ${this.name} is ${this.#status}.`)
  }
}

function progressOf({ next, settled }: LedgerChange): Pick<LedgerRow, 'next' | 'settled'> {
  return { next, settled }
}

function ledgerName(service: string, { topic, partition }: TopicPartition): string {
  return JSON.stringify([service, topic, partition])
}

function stateName(service: string, key: Buffer): string {
  return JSON.stringify([service, key.toString('base64')])
}
