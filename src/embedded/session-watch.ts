import type { Session } from './log-storage.ts'

interface Seen {
  readonly beats: number
  readonly age: number
}

/**
 * Decides which sessions are dead: those whose beat has not moved for the timeout, counted by the watcher's own
 * clock, so that clocks need not agree.
 *
 * A look counts for two intervals at most. Without that: the machine sleeps for an hour; the first process to wake
 * looks before the others have beaten, sees an hour of silence, and throws them all out.
 */
export class SessionWatch {
  readonly #timeout: number
  readonly #mostElapsed: number
  #seen = new Map<string, Seen>()

  /** Both in milliseconds; `interval` is the time between looks. */
  constructor(timeout: number, interval: number) {
    this.#timeout = timeout
    this.#mostElapsed = 2 * interval
  }

  /** The dead among these, `elapsed` milliseconds after the last look. */
  look(sessions: readonly Session[], elapsed: number): readonly Session[] {
    const step = Math.min(elapsed, this.#mostElapsed)
    const before = this.#seen
    this.#seen = new Map(
      sessions.map(({ id, beats }) => {
        const last = before.get(id)
        return [id, { beats, age: last?.beats === beats ? last.age + step : 0 }]
      }),
    )
    return sessions.filter(({ id }) => (this.#seen.get(id)?.age ?? 0) >= this.#timeout)
  }
}
