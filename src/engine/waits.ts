/** What the services are waiting for before they can go on: what makes a process not ready. */
export class Waits {
  readonly #waits = new Map<string, number>()

  /** Begins to wait; the result ends it. */
  begin(what: string): () => void {
    this.#waits.set(what, (this.#waits.get(what) ?? 0) + 1)
    return () => {
      const left = (this.#waits.get(what) ?? 1) - 1
      if (left === 0) this.#waits.delete(what)
      else this.#waits.set(what, left)
    }
  }

  get all(): readonly string[] {
    return [...this.#waits.keys()]
  }
}
