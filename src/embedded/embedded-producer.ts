import type { BrokerProducer, OutgoingRecord, Refusal } from '../ports/broker.ts'
import type { BatchWriter } from './batch-writer.ts'
import type { LogStorage } from './log-storage.ts'
import { closedError } from './refusals.ts'

/** Writes to the embedded log. */
export class EmbeddedProducer implements BrokerProducer {
  readonly #log: LogStorage
  readonly #writer: BatchWriter
  readonly #closed: () => void
  #isClosed = false

  constructor(log: LogStorage, writer: BatchWriter, closed: (producer: EmbeddedProducer) => void) {
    this.#log = log
    this.#writer = writer
    this.#closed = () => closed(this)
  }

  async send(records: readonly OutgoingRecord[]): Promise<readonly Refusal[]> {
    if (this.#isClosed) throw closedError('The producer')
    const batch = this.#writer.prepare(records)
    if (batch.accepted.length === 0) return batch.refusals
    return await this.#log.write((log) => {
      const placed = this.#writer.place(log, batch)
      this.#writer.append(log, placed)
      return placed.refusals
    })
  }

  check(record: OutgoingRecord): Error | undefined {
    return this.#writer.check(record)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#closed()
  }
}
