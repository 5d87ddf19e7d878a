import { encodeRecord } from '../../../src/engine/outputs.ts'
import type { Broker, BrokerProducer, OutgoingRecord } from '../../../src/ports/broker.ts'
import { chanceOf, shuffled } from '../../../src/testing/crash/chance.ts'
import type { booksOf } from './books.ts'

/** A fact about a book, or a copy of one. */
interface Fact {
  readonly book: number
  readonly kind: 0 | 1 | 2
  /** Of a copy: any partition, so that another member may be at it. */
  readonly partition: number | undefined
}

const kinds = [0, 1, 2] as const

/** All facts about some books, a quarter of them twice, in an order that follows from `seed`. */
function factsInDisorder(books: number, partitions: readonly number[], seed: number): Fact[] {
  const chance = chanceOf(seed)
  const facts: Fact[] = []
  for (let book = 0; book < books; book += 1) {
    for (const kind of kinds) {
      facts.push({ book, kind, partition: undefined })
      if (chance() < 0.25)
        facts.push({ book, kind, partition: Math.floor(chance() * (partitions[kind] ?? 1)) })
    }
  }
  return shuffled(facts, chance)
}

/** Writes facts by and by. */
export class FactWriter {
  readonly #facts: readonly Fact[]
  readonly #messages: ReturnType<typeof booksOf>['messages']
  readonly #producer: BrokerProducer
  readonly #meal: number
  #next = 0

  private constructor(
    facts: readonly Fact[],
    messages: ReturnType<typeof booksOf>['messages'],
    producer: BrokerProducer,
    meal: number,
  ) {
    this.#facts = facts
    this.#messages = messages
    this.#producer = producer
    this.#meal = meal
  }

  /** @param meals among how many calls of `feed` all facts are divided, about */
  static async open(
    broker: Broker,
    { messages, inputs }: ReturnType<typeof booksOf>,
    {
      books,
      seed,
      meals,
    }: { readonly books: number; readonly seed: number; readonly meals: number },
  ): Promise<FactWriter> {
    const ranges = await broker.admin.ranges(inputs.map(({ name }) => name))
    const partitions = inputs.map(({ name }) => ranges.filter(({ topic }) => topic === name).length)
    const facts = factsInDisorder(books, partitions, seed)
    return new FactWriter(facts, messages, await broker.producer(), Math.ceil(facts.length / meals))
  }

  get count(): number {
    return this.#facts.length
  }

  /** Writes the next of them; when all are written, some once more. */
  async feed(): Promise<void> {
    const from = this.#next
    this.#next += this.#meal
    await this.#write(from, this.#meal)
  }

  /** Writes what has not been written yet. */
  async finish(): Promise<void> {
    for (; this.#next < this.#facts.length; this.#next += this.#meal)
      await this.#write(this.#next, Math.min(this.#meal, this.#facts.length - this.#next))
  }

  async #write(from: number, count: number): Promise<void> {
    const records = Array.from({ length: count }, (_, index): OutgoingRecord => {
      const fact = this.#facts[(from + index) % this.#facts.length] as Fact
      return {
        ...encodeRecord(this.#messages[fact.kind](`book-${fact.book}`)),
        partition: fact.partition,
      }
    })
    const [refusal] = await this.#producer.send(records)
    if (refusal !== undefined) throw refusal.error
  }

  close(): Promise<void> {
    return this.#producer.close()
  }
}
