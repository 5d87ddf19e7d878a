import type { RawMessage } from '../message.ts'
import type { BrokerReader, Position } from '../ports/broker.ts'
import { type Cursor, fetchRecords, rotate } from './fetch-records.ts'
import type { LogStorage } from './log-storage.ts'
import { PollWait } from './poll-wait.ts'
import { closedError } from './refusals.ts'

/** Reads without a group. A position before the log's first record starts there; one behind its end waits. */
export class EmbeddedReader implements BrokerReader {
  readonly #log: LogStorage
  readonly #wait: PollWait
  readonly #stopListening: () => void
  readonly #closed: () => void
  #cursors: Cursor[]
  #isClosed = false

  constructor(
    log: LogStorage,
    from: readonly Position[],
    closed: (reader: EmbeddedReader) => void,
  ) {
    this.#log = log
    this.#cursors = from.map(({ topic, partition, offset }) => ({
      topic,
      partition,
      position: offset,
    }))
    this.#wait = new PollWait((max) => this.#gather(max))
    this.#stopListening = log.onChange(() => this.#wait.wake())
    this.#closed = () => closed(this)
  }

  poll(max: number): Promise<readonly RawMessage[]> {
    if (this.#isClosed) return Promise.reject(closedError('The reader'))
    return this.#wait.poll(max)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stopListening()
    this.#wait.end()
    this.#closed()
  }

  #gather(max: number): readonly RawMessage[] {
    const records = fetchRecords(this.#log.reads, this.#cursors, max, (_, earliest) => earliest)
    rotate(this.#cursors)
    return records
  }
}
