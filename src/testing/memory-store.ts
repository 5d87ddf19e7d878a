import { PolluxError } from '../errors.ts'
import type { OutgoingRecord, TopicPartition } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type {
  AcknowledgedOutputs,
  CommitResult,
  HeldRow,
  LedgerChange,
  LedgerPartition,
  LedgerRow,
  Loaded,
  Mark,
  StateChange,
  StateRow,
  Store,
  StoredOutputs,
  Unit,
} from '../ports/store.ts'
import { systemClock } from '../system-clock.ts'

// How many marks one call of `forget` looks at.
const slice = 1_000

/** A mark, with what is asked when it may be forgotten. */
interface KeptMark extends Omit<Mark, 'id'> {
  readonly service: string
  readonly appliedAt: number
}

interface KeptOutputs extends StoredOutputs {
  readonly storedAt: number
}

interface KeptLedgerRow extends LedgerRow {
  readonly service: string
  readonly unpublished: readonly KeptOutputs[]
}

/**
 * What memory stores keep. Give the same one to several stores to let them see each other, or to
 * outlive one.
 */
export class MemoryStoreData {
  /** By service and partition. */
  readonly ledger: Map<string, KeptLedgerRow> = new Map()
  /** By service and key. */
  readonly states: Map<string, StateRow> = new Map()
  /** By service, topic and id. */
  readonly marks: Map<string, KeptMark> = new Map()
  /**
   * Counts for all keys together, so that a key that is removed and comes back never has an old
   * version again.
   */
  lastVersion = 0
}

/**
 * A store in memory, **for tests only**: what it holds is gone with the process. The clock says how
 * old marks and outputs are; default the machine's.
 */
export function memoryStore(
  data: MemoryStoreData = new MemoryStoreData(),
  clock: Pick<Clock, 'now'> = systemClock,
): Store {
  return new MemoryStore(data, clock)
}

class MemoryStore implements Store {
  readonly name = 'memory'
  readonly #data: MemoryStoreData
  readonly #clock: Pick<Clock, 'now'>
  /** Where the pass over the marks is, by service. */
  readonly #passes = new Map<string, Iterator<[string, KeptMark]>>()
  #status: 'not open' | 'open' | 'closed' = 'not open'

  constructor(data: MemoryStoreData, clock: Pick<Clock, 'now'>) {
    this.#data = data
    this.#clock = clock
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
    for (const [index, partition] of partitions.entries()) {
      const name = names[index] as string
      if (names.indexOf(name) < index) continue
      const row = ledger.get(name) ?? newRow(service, partition)
      ledger.set(name, { ...row, epoch: Math.max(row.epoch + 1, this.#clock.now()) })
    }
    return names.map((name) => copyOfRow(ledger.get(name) as KeptLedgerRow))
  }

  async load(
    service: string,
    keys: readonly Buffer[],
    marks: readonly Pick<Mark, 'topic' | 'id'>[],
  ): Promise<Loaded> {
    this.#checkOpen()
    return {
      states: keys.map((key) => {
        const row = this.#data.states.get(stateName(service, key))
        return row === undefined
          ? { value: null, version: 0, guard: null }
          : { ...row, value: copyOf(row.value) }
      }),
      applied: marks.map((mark) => this.#data.marks.has(markName(service, mark))),
    }
  }

  async commit({ service, marks, states, ledger }: Unit): Promise<CommitResult> {
    this.#checkOpen()
    // All checks come before all writes, and nothing is awaited in between.
    if (!ledger.every((change) => this.#isOwner(service, change))) return { outcome: 'fenced' }
    if (!marks.every((mark) => !this.#data.marks.has(markName(service, mark)))) {
      return { outcome: 'conflict' }
    }
    if (!states.every((change) => this.#isCurrent(service, change))) return { outcome: 'conflict' }
    for (const change of ledger) this.#move(service, change)
    for (const mark of marks) this.#mark(service, mark)
    return { outcome: 'committed', versions: states.map((change) => this.#write(service, change)) }
  }

  async acknowledge(service: string, partitions: readonly AcknowledgedOutputs[]): Promise<void> {
    this.#checkOpen()
    for (const acknowledged of partitions) {
      const name = ledgerName(service, acknowledged)
      const row = this.#data.ledger.get(name)
      if (row?.epoch !== acknowledged.epoch) continue
      this.#data.ledger.set(name, { ...row, unpublished: after(row, acknowledged.unit) })
    }
  }

  async holds(service: string, rows: readonly HeldRow[]): Promise<readonly boolean[]> {
    this.#checkOpen()
    return rows.map((row) => this.#isOwner(service, row))
  }

  async unpublished(service: string, age: number): Promise<readonly LedgerPartition[]> {
    this.#checkOpen()
    const now = this.#clock.now()
    return [...this.#data.ledger.values()]
      .filter((row) => row.service === service)
      .filter(({ unpublished }) => unpublished.some(({ storedAt }) => now - storedAt > age))
      .map(({ topic, partition, topicId }) => ({ topic, partition, topicId }))
  }

  async forget(service: string, window: number): Promise<boolean> {
    this.#checkOpen()
    const { marks } = this.#data
    // The iterator of a map goes on where it was, whatever is added or deleted in the meantime.
    const pass = this.#passes.get(service) ?? marks.entries()
    this.#passes.set(service, pass)
    for (let count = 0; count < slice; count += 1) {
      const { done, value } = pass.next()
      if (done === true) {
        this.#passes.delete(service)
        return false
      }
      const [name, mark] = value
      if (mark.service === service && this.#mayForget(mark, window)) marks.delete(name)
    }
    return true
  }

  async close(): Promise<void> {
    this.#status = 'closed'
  }

  #isOwner(service: string, { topic, partition, epoch, unit }: HeldRow): boolean {
    const row = this.#data.ledger.get(ledgerName(service, { topic, partition }))
    return row?.epoch === epoch && row.unit === unit
  }

  #isCurrent(service: string, { key, version }: StateChange): boolean {
    return (this.#data.states.get(stateName(service, key))?.version ?? 0) === version
  }

  #mayForget({ service, topic, partition, offset, appliedAt }: KeptMark, window: number): boolean {
    const { next } = this.#data.ledger.get(ledgerName(service, { topic, partition })) ?? {}
    return next !== undefined && offset < next && this.#clock.now() - appliedAt > window
  }

  #move(service: string, change: LedgerChange): void {
    const name = ledgerName(service, change)
    const row = this.#data.ledger.get(name) as KeptLedgerRow
    const unit = row.unit + 1
    const kept = after(row, change.acknowledged ?? 0)
    const records = change.outputs.map(copyOfRecord)
    const added = records.length === 0 ? [] : [{ unit, records, storedAt: this.#clock.now() }]
    this.#data.ledger.set(name, {
      ...row,
      unit,
      next: change.next,
      settled: structuredClone(change.settled),
      unpublished: [...kept, ...added],
    })
  }

  #mark(service: string, mark: Mark): void {
    const { topic, partition, offset } = mark
    const appliedAt = this.#clock.now()
    this.#data.marks.set(markName(service, mark), { service, topic, partition, offset, appliedAt })
  }

  #write(service: string, { key, value, guard }: StateChange): number {
    const name = stateName(service, key)
    if (value === null && guard === null) {
      this.#data.states.delete(name)
      return 0
    }
    this.#data.lastVersion += 1
    const version = this.#data.lastVersion
    this.#data.states.set(name, { value: copyOf(value), version, guard })
    return version
  }

  #checkOpen(): void {
    if (this.#status === 'open') return
    throw new PolluxError('POLLUX_STORE_FAILED', `The store ${this.name} is ${this.#status}.`)
  }
}

function newRow(service: string, { topic, partition, topicId }: LedgerPartition): KeptLedgerRow {
  const progress = { epoch: 0, unit: 0, next: undefined, settled: [], unpublished: [] }
  return { service, topic, partition, topicId, ...progress }
}

/** What is left when outputs up to that unit are acknowledged. */
function after(row: KeptLedgerRow, acknowledged: number): readonly KeptOutputs[] {
  return row.unpublished.filter(({ unit }) => unit > acknowledged)
}

function copyOfRow({ service: _, unpublished, settled, ...row }: KeptLedgerRow): LedgerRow {
  return {
    ...row,
    settled: structuredClone(settled),
    unpublished: unpublished.map(({ unit, records }) => ({
      unit,
      records: records.map(copyOfRecord),
    })),
  }
}

function copyOfRecord(record: OutgoingRecord): OutgoingRecord {
  const { topic, partition, key, value, headers, timestamp } = record
  return {
    topic,
    partition,
    key: copyOf(key),
    value: copyOf(value),
    headers: headers.map((header) => ({ name: header.name, value: copyOf(header.value) })),
    timestamp,
  }
}

function copyOf(bytes: Uint8Array | null): Buffer | null {
  return bytes === null ? null : Buffer.from(bytes)
}

function ledgerName(service: string, { topic, partition }: TopicPartition): string {
  return JSON.stringify([service, topic, partition])
}

function stateName(service: string, key: Buffer): string {
  return JSON.stringify([service, key.toString('base64')])
}

function markName(service: string, { topic, id }: Pick<Mark, 'topic' | 'id'>): string {
  return JSON.stringify([service, topic, id.toString('base64')])
}
