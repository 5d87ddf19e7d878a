/**
 * Time and chance. The engine takes both from here and nowhere else, so that a test can move time by hand
 * and replay what chance decided.
 */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /**
   * Runs `task` once after `ms` milliseconds, and returns what calls it off. Calling it off twice, or after
   * the task ran, does nothing. A pending task alone does not keep a process alive.
   */
  after(ms: number, task: () => void): () => void
  /** A number from 0 (included) to 1 (excluded). */
  random(): number
}
