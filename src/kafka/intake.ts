import type { RawMessage } from '../message.ts'
import { call, type DriverConsumer, type DriverError, type DriverMessage } from './driver.ts'
import { convertMessages } from './message.ts'
import type { Wake } from './wake.ts'

// Records become objects in one go, on the event loop: a thousand take about 3 ms.
const mostAtOnce = 1_000
// How long an empty queue is believed to be empty without a signal of the driver.
const longestRest = 100

/**
 * Takes records from the driver's queue. It never blocks a thread while the queue is empty: Node's pool has four, and
 * each service would hold one. Whoever calls also keeps the membership alive, and lets the driver's callbacks run.
 */
export class Intake {
  readonly #consumer: DriverConsumer
  readonly #wake: Wake
  readonly #failed: (error: DriverError) => void
  #busy: Promise<unknown> = Promise.resolve()

  /** `wake` is signalled when the queue gets something; `failed` hears of errors in the stream. */
  constructor(consumer: DriverConsumer, wake: Wake, failed: (error: DriverError) => void) {
    this.#consumer = consumer
    this.#wake = wake
    this.#failed = failed
    consumer.setDefaultConsumeTimeout(0)
  }

  /** What is there right now. @throws POLLUX_OFFSET_UNSAFE */
  take(max: number): Promise<RawMessage[]> {
    return this.alone(async () => {
      this.#wake.clear()
      try {
        const wanted = Math.max(1, Math.min(max, mostAtOnce))
        return convertMessages(
          await call<DriverMessage[]>((done) => this.#consumer.consume(wanted, done)),
        )
      } catch (error: unknown) {
        if (typeof (error as Partial<DriverError>).code !== 'number') throw error
        this.#failed(error as DriverError)
        return []
      }
    })
  }

  /** Waits until there is something to take, at most `ms`. */
  rest(ms: number): Promise<void> {
    return this.#wake.wait(Math.min(ms, longestRest))
  }

  /** Ends a rest early. */
  wake(): void {
    this.#wake.signal()
  }

  /** Runs `task` while nothing is taken; tasks run one after the other. */
  alone<Value>(task: () => Promise<Value>): Promise<Value> {
    const result = this.#busy.then(task)
    this.#busy = result.catch(() => undefined)
    return result
  }
}
