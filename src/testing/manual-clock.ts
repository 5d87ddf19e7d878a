import type { Clock } from '../ports/clock.ts'

interface Task {
  readonly due: number
  readonly run: () => void
}

/** A clock that only moves when told to. What is due at once runs in the next turn of the event loop. */
export class ManualClock implements Clock {
  #now: number
  #tasks: Task[] = []
  #chance = 0

  /** @param start milliseconds since 1970 */
  constructor(start: number = Date.UTC(2026, 0, 1)) {
    this.#now = start
  }

  now(): number {
    return this.#now
  }

  after(ms: number, task: () => void): () => void {
    if (ms <= 0) {
      const immediate = setImmediate(task)
      return () => clearImmediate(immediate)
    }
    const entry = { due: this.#now + ms, run: task }
    this.#tasks.push(entry)
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== entry)
    }
  }

  /** The same sequence in every run. */
  random(): number {
    this.#chance = (this.#chance * 1_103_515_245 + 12_345) % 2 ** 31
    return this.#chance / 2 ** 31
  }

  /** Moves time, running what becomes due in its order; what that schedules within the time runs as well. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      const [next] = this.#tasks.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)
      if (next === undefined) break
      this.#tasks = this.#tasks.filter((other) => other !== next)
      this.#now = Math.max(this.#now, next.due)
      next.run()
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
    this.#now = end
  }
}
