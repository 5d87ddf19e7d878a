import type { ManualClock } from '../../src/testing/index.ts'

/** A replayable source of chance. */
export function chanceOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

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
