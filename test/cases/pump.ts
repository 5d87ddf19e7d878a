import type { ManualClock } from '../../src/testing/index.ts'

export { chanceOf } from '../../src/testing/crash/chance.ts'

/** Lets waiting handlers go on, one at a time and in a random order, while it moves the clock. */
export class Pump {
  readonly #clock: ManualClock
  readonly #chance: () => number
  readonly #waiting: (() => void)[] = []
  #isRunning = true
  readonly #ended: Promise<void>

  constructor(clock: ManualClock, chance: () => number) {
    this.#clock = clock
    this.#chance = chance
    this.#ended = this.#run()
  }

  /** Resolves when chance has it. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await this.#ended
  }

  async #run(): Promise<void> {
    while (this.#isRunning || this.#waiting.length > 0) {
      await this.#clock.advance(20)
      await new Promise((resolve) => setImmediate(resolve))
      const [next] = this.#waiting.splice(Math.floor(this.#chance() * this.#waiting.length), 1)
      next?.()
    }
  }
}
