import { setTimeout as sleep } from 'node:timers/promises'
import type { Position } from '../ports/broker.ts'
import { type ConnectedClient, type ConnectionContext, disconnectClient } from './connect-client.ts'
import { call, type DriverConsumer, type DriverTransactionalProducer } from './driver.ts'
import { closedError } from './errors.ts'
import { committable } from './partitions.ts'
import { RecordWriter } from './record-writer.ts'

type Call = Parameters<typeof call>[0]

// How long a call may hold one of the four threads of Node's pool. After that the same call waits for the rest.
const callLimit = 1_000
const pause = 50
// How long aborting may take when the owner is being closed.
const abandonLimit = 3_000
const disconnectLimit = 5_000

/**
 * A client of the driver with a `transactional.id`. Its calls wait out what passes by itself; they reject with the
 * driver's error when the transaction has to be aborted, or when the client is of no use any more.
 */
export class TransactionClient {
  readonly writer: RecordWriter
  readonly #client: DriverTransactionalProducer
  readonly #closed: AbortSignal
  #begun = 0

  constructor(
    connected: ConnectedClient<DriverTransactionalProducer>,
    context: ConnectionContext,
    maxBytes: number,
  ) {
    this.#client = connected.client
    this.#closed = context.closed
    this.writer = new RecordWriter(connected, context, maxBytes, () => context.closed.aborted)
  }

  /** Takes the id: producers that have it are fenced, and what they have open is aborted. */
  async init(): Promise<void> {
    await this.#repeat((done) => this.#client.initTransactions(callLimit, done))
  }

  async begin(): Promise<void> {
    this.#begun = Date.now()
    try {
      await call((done) => this.#client.beginTransaction(done))
    } catch (error: unknown) {
      // The driver does not say so here, but there is nothing else that can go wrong.
      throw Object.assign(error as Error, { isFatal: true })
    }
  }

  /** Milliseconds since `begin`, by the clock on the wall: it counts a time for which the machine was suspended. */
  get age(): number {
    return Date.now() - this.#begun
  }

  async sendOffsets(consumer: DriverConsumer, positions: readonly Position[]): Promise<void> {
    const offsets = positions.map(committable)
    await this.#repeat((done) =>
      this.#client.sendOffsetsToTransaction(offsets, consumer, callLimit, done),
    )
  }

  async commit(): Promise<void> {
    await this.#repeat((done) => this.#client.commitTransaction(callLimit, done))
  }

  async abort(): Promise<void> {
    await this.#repeat((done) => this.#client.abortTransaction(callLimit, done))
  }

  /** Aborts if that is possible now. Otherwise the broker does, once the transaction's time is over. */
  async abandon(): Promise<void> {
    const deadline = performance.now() + abandonLimit
    try {
      await this.#repeat(
        (done) => this.#client.abortTransaction(callLimit, done),
        () => performance.now() > deadline,
      )
    } catch {
      // There is nothing more to be done about it.
    }
  }

  /** False when the native part does not end in time. No other call may be under way. */
  async close(): Promise<boolean> {
    return await disconnectClient(this.#client, disconnectLimit)
  }

  async #repeat(run: Call, isOver: () => boolean = () => this.#closed.aborted): Promise<void> {
    for (;;) {
      if (isOver()) throw closedError('A transactional producer')
      const error = await call(run).then(
        () => undefined,
        (failure: unknown) => failure,
      )
      if (error === undefined) return
      if ((error as { readonly isRetriable?: unknown }).isRetriable !== true) throw error
      await sleep(pause)
    }
  }
}
