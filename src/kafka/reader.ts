import type { RawMessage } from '../message.ts'
import type { BrokerReader, Position } from '../ports/broker.ts'
import { type ConnectedClient, type ConnectionContext, disconnectClient } from './connect-client.ts'
import type { DriverConsumer, DriverError } from './driver.ts'
import { brokerError, closedError, isPassing } from './errors.ts'
import { Intake } from './intake.ts'
import { bare } from './partitions.ts'
import type { Wake } from './wake.ts'

const pollWait = 250

/** Reads partitions that were named, without joining a group and without committing. */
export class KafkaReader implements BrokerReader {
  readonly #consumer: DriverConsumer
  readonly #intake: Intake
  readonly #closed: () => void
  #closing: Promise<void> | undefined
  #failure: Error | undefined

  constructor(
    { client, log }: ConnectedClient<DriverConsumer>,
    wake: Wake,
    from: readonly Position[],
    context: ConnectionContext,
    closed: () => void,
  ) {
    this.#consumer = client
    this.#closed = closed
    this.#intake = new Intake(client, wake, (error: DriverError) => {
      if (!isPassing(error))
        this.#failure = brokerError('A reader cannot go on', error, context.secrets)
    })
    void log
    client.assign(from.map((position) => ({ ...bare(position), offset: position.offset })))
  }

  async poll(max: number): Promise<readonly RawMessage[]> {
    const deadline = performance.now() + pollWait
    if (this.#closing !== undefined) throw closedError('A reader')
    for (;;) {
      const records = await this.#intake.take(max)
      if (this.#closing !== undefined) return []
      if (records.length > 0) return records
      if (this.#failure !== undefined) throw this.#failure
      const left = deadline - performance.now()
      if (left <= 0) return []
      await this.#intake.rest(left)
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#intake.wake()
    await this.#intake.alone(() => disconnectClient(this.#consumer, 5_000))
    this.#closed()
  }
}
