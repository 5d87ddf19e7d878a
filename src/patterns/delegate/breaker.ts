/** When a breaker opens, and for how long. Durations in milliseconds. */
export interface BreakerSettings {
  /** How many of the last calls are looked at. */
  readonly window: number
  /** It opens when at least so many per cent of them have failed… */
  readonly threshold: number
  /** … of no fewer calls than these. */
  readonly calls: number
  /** How long it stays open the first time; doubled for each probe that fails. */
  readonly pause: number
  readonly longestPause: number
  /** How many probes in a row have to succeed. */
  readonly probes: number
}

/** A call that was let through. */
export interface Ticket {
  readonly isProbe: boolean
  /** What it says counts only while the breaker is as it was. */
  readonly era: number
}

/** What has become of a call; `unknown` where it says nothing about the called service. */
export type Outcome = 'success' | 'failure' | 'unknown'

/**
 * Stops calling a service that fails. Closed, all calls pass. When too many of the last ones have failed it opens, and none
 * passes; after a pause one probe does at a time, whose outcome closes or opens it again. Knows no clock: callers say
 * what time it is, in milliseconds.
 */
export class Breaker {
  readonly #settings: BreakerSettings
  #era = 0
  /** Of the last calls, oldest first: whether they failed. */
  #window: boolean[] = []
  #openUntil: number | undefined
  #isProbing = false
  #goodProbes = 0
  #pauses = 0

  constructor(settings: BreakerSettings) {
    this.#settings = settings
  }

  get isClosed(): boolean {
    return this.#openUntil === undefined
  }

  /** A ticket, or the milliseconds after which it makes sense to ask again; sooner when a probe has ended. */
  admit(now: number): Ticket | number {
    if (this.#openUntil === undefined) return { isProbe: false, era: this.#era }
    if (now < this.#openUntil) return this.#openUntil - now
    if (this.#isProbing) return this.#settings.pause
    this.#isProbing = true
    return { isProbe: true, era: this.#era }
  }

  /** Takes a ticket back, once. True when others may be let through that were not before. */
  record({ isProbe, era }: Ticket, outcome: Outcome, now: number): boolean {
    if (era !== this.#era) return false
    if (isProbe) return this.#recordProbe(outcome, now)
    if (outcome === 'unknown') return false
    const { window, calls, threshold } = this.#settings
    this.#window.push(outcome === 'failure')
    if (this.#window.length > window) this.#window.shift()
    const failed = this.#window.filter(Boolean).length
    if (this.#window.length >= calls && failed * 100 >= threshold * this.#window.length)
      this.#open(now)
    return false
  }

  #recordProbe(outcome: Outcome, now: number): boolean {
    this.#isProbing = false
    if (outcome === 'failure') {
      this.#open(now)
    } else if (outcome === 'success') {
      this.#goodProbes += 1
      if (this.#goodProbes >= this.#settings.probes) this.#close()
    }
    return outcome !== 'failure'
  }

  #open(now: number): void {
    const { pause, longestPause } = this.#settings
    this.#openUntil = now + Math.min(longestPause, pause * 2 ** Math.min(this.#pauses, 30))
    this.#pauses += 1
    this.#begin()
  }

  #close(): void {
    this.#openUntil = undefined
    this.#pauses = 0
    this.#begin()
  }

  #begin(): void {
    this.#era += 1
    this.#window = []
    this.#goodProbes = 0
    this.#isProbing = false
  }
}
