/** Lets one waiter go on when something happened, also when it happened just before. */
export class Wake {
  #hasHappened = false
  #resolve: (() => void) | undefined

  signal(): void {
    this.#hasHappened = true
    this.#resolve?.()
  }

  /** Forgets what happened so far. */
  clear(): void {
    this.#hasHappened = false
  }

  /** Resolves at the next signal, or after `ms` milliseconds. */
  wait(ms: number): Promise<void> {
    if (this.#hasHappened || ms <= 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#resolve?.(), ms)
      const before = this.#resolve
      this.#resolve = () => {
        clearTimeout(timer)
        this.#resolve = undefined
        before?.()
        resolve()
      }
    })
  }
}
