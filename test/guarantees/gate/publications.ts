import assert from 'node:assert/strict'
import type { RawMessage } from '../../../src/message.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import { LogReader } from '../log-reader.ts'
import { priceOf } from './books.ts'

/** What a gate has published: for each book one id, and one book for each id. */
export class Publications {
  readonly #ids = new Map<string, string>()
  readonly #books = new Map<string, string>()
  /** Records that were there already, under the same id: sent again after a crash. */
  copies = 0
  #reader: LogReader | undefined
  #checking: Promise<void> = Promise.resolve()

  async open(broker: Broker, topic: string): Promise<void> {
    this.#reader = await LogReader.open(broker, topic, (record) => this.#take(record))
  }

  get books(): number {
    return this.#ids.size
  }

  #take({ key, value, headers }: RawMessage): void {
    const [book, id] = [`${key}`, `${headers.find(({ name }) => name === 'id')?.value ?? ''}`]
    assert.notEqual(id, '', `what ${book} has published has no id`)
    assert.equal(Number(`${value}`), priceOf(book), `the price of ${book}`)
    if (this.#ids.has(book)) this.copies += 1
    assert.equal(this.#ids.get(book) ?? id, id, `${book} has opened twice`)
    assert.equal(this.#books.get(id) ?? book, book, `${id} names two books`)
    this.#ids.set(book, id)
    this.#books.set(id, book)
  }

  /** Reads on, and rejects when a book has opened twice. */
  check(): Promise<void> {
    // Readers take one poll at a time.
    const check = this.#checking.then(() => this.#reader?.catchUp())
    this.#checking = check.catch(() => {})
    return check
  }

  async close(): Promise<void> {
    await this.#reader?.close()
  }
}
