import { hash } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'

/** Results by the content that they were made from: the latest used ones, each for a time. */
export class ContentCache<R> {
  readonly #entries = new Map<string, { readonly result: R; readonly end: number }>()
  readonly #most: number
  readonly #lifetime: number
  readonly #clock: Clock

  /** @param lifetime milliseconds */
  constructor({ entries, lifetime }: { entries: number; lifetime: number }, clock: Clock) {
    this.#most = entries
    this.#lifetime = lifetime
    this.#clock = clock
  }

  /** In a box, as a result may be undefined. */
  get(content: string | Uint8Array): { readonly result: R } | undefined {
    const key = keyOf(content)
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    if (entry.end <= this.#clock.now()) return undefined
    // A map keeps the order of insertion: what was used last is last.
    this.#entries.set(key, entry)
    return entry
  }

  set(content: string | Uint8Array, result: R): void {
    const key = keyOf(content)
    this.#entries.delete(key)
    this.#entries.set(key, { result, end: this.#clock.now() + this.#lifetime })
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > this.#most && oldest !== undefined) this.#entries.delete(oldest)
  }
}

/** Content may be long; what is kept of it is not. */
function keyOf(content: string | Uint8Array): string {
  return hash('sha256', content, 'base64')
}
