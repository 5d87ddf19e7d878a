import { setTimeout as delay } from 'node:timers/promises'
import { PolluxError } from '../../errors.ts'
import type { BrokerProducer, OutgoingRecord, Refusal } from '../../ports/broker.ts'
import { type InputRecord, type InputRecords, LineProblem } from './input-record.ts'

export interface SendOptions {
  readonly producer: BrokerProducer
  readonly topic: string
  readonly records: InputRecords
  /** The most records sent, and awaited, at once. */
  readonly batch: number
  /** Records a second; undefined is as fast as they are acknowledged. */
  readonly rate: number | undefined
  /** Ends the sending after the batch under way. */
  readonly stop: AbortSignal
  /** Is told after each batch. */
  onAcknowledged(totals: SendTotals): void
}

export interface SendTotals {
  /** Records acknowledged. */
  readonly records: number
  /** Bytes of their keys and values. */
  readonly bytes: number
}

const batchBytes = 4 * 1024 ** 2
/** How long a batch waits for more before it is sent as it is. */
const linger = 100

/**
 * Sends records batch by batch and awaits each one's acknowledgement, so that no more than a batch is in memory.
 * Resolves at the end of the records or after a stop.
 * @throws LineProblem for a bad line, after all before it were acknowledged; POLLUX_OUTPUT_REFUSED for a refused record.
 */
export async function sendRecords(options: SendOptions): Promise<void> {
  const { records, stop } = options
  const sender = new Sender(options)
  const source = records[Symbol.asyncIterator]()
  try {
    let next = source.next()
    for (;;) {
      const step = sender.isEmpty
        ? await next
        : await Promise.race([next, delay(linger, undefined)])
      if (step === undefined) {
        await sender.flush()
        continue
      }
      if (step.done === true || stop.aborted) break
      await sender.add(step.value)
      if (stop.aborted) break
      next = source.next()
    }
  } catch (error) {
    const isStopped = stop.aborted && !(error instanceof LineProblem) && !PolluxError.is(error)
    if (!isStopped && !(error instanceof LineProblem)) throw error
    await sender.flush()
    if (!isStopped) throw error
  }
  await sender.flush()
}

class Sender {
  readonly #options: SendOptions
  readonly #size: number
  readonly #start = performance.now()
  #batch: InputRecord[] = []
  #bytes = 0
  #totals: SendTotals = { records: 0, bytes: 0 }

  constructor(options: SendOptions) {
    this.#options = options
    // A tenth of a second's worth at a time, so that a slow rate is not a burst each second.
    this.#size =
      options.rate === undefined
        ? options.batch
        : Math.min(options.batch, Math.max(1, Math.floor(options.rate / 10)))
  }

  get isEmpty(): boolean {
    return this.#batch.length === 0
  }

  async add(records: readonly InputRecord[]): Promise<void> {
    for (const record of records) {
      const refusal = this.#options.producer.check(this.#outgoing(record))
      if (refusal !== undefined) {
        await this.flush()
        throw new LineProblem(record.line, {
          expected: 'a record that the broker can take',
          found: refusal.message,
        })
      }
      this.#batch.push(record)
      this.#bytes += sizeOf(record)
      if (this.#batch.length >= this.#size || this.#bytes >= batchBytes) {
        await this.flush()
        if (this.#options.stop.aborted) return
      }
    }
  }

  async flush(): Promise<void> {
    if (this.#batch.length === 0) return
    await this.#keepPace()
    const batch = this.#batch
    this.#batch = []
    this.#bytes = 0
    const refusals = await this.#options.producer.send(
      batch.map((record) => this.#outgoing(record)),
    )
    const refused = new Set(refusals.map(({ index }) => index))
    const taken = batch.filter((_, index) => !refused.has(index))
    this.#totals = {
      records: this.#totals.records + taken.length,
      bytes: taken.reduce((sum, record) => sum + sizeOf(record), this.#totals.bytes),
    }
    this.#options.onAcknowledged(this.#totals)
    if (refusals.length > 0) throw refusedError(batch, refusals)
  }

  #outgoing({ key, value }: InputRecord): OutgoingRecord {
    return {
      topic: this.#options.topic,
      partition: undefined,
      key,
      value,
      headers: [],
      timestamp: undefined,
    }
  }

  async #keepPace(): Promise<void> {
    const { rate, stop } = this.#options
    if (rate === undefined || stop.aborted) return
    const due = this.#start + (this.#totals.records / rate) * 1_000
    try {
      await delay(Math.max(0, due - performance.now()), undefined, { signal: stop })
    } catch {
      // Stopped while waiting: the batch that was read is still sent, then it ends.
    }
  }
}

function sizeOf({ key, value }: InputRecord): number {
  return value.length + (key?.length ?? 0)
}

function refusedError(batch: readonly InputRecord[], refusals: readonly Refusal[]): PolluxError {
  const [first] = refusals
  const lines = refusals.slice(0, 20).map(({ index }) => batch[index]?.line)
  return new PolluxError(
    'POLLUX_OUTPUT_REFUSED',
    `The broker refused ${refusals.length} records.`,
    {
      found: `lines ${lines.join(', ')}${refusals.length > 20 ? ', …' : ''}: ${first?.error.message ?? ''}`,
      hint: `All other records up to line ${batch.at(-1)?.line} were written.`,
      cause: first?.error,
    },
  )
}
