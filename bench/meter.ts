/** What a contestant reports of its run. */
export interface Figures {
  readonly messages: number
  /** From the first message to the last commit. */
  readonly seconds: number
  /** CPU of the whole process in that time, per message. */
  readonly cpuMicroseconds: number
}

/** Counts messages; measures from the first one to the end. */
export class Meter {
  readonly #started: () => void
  #count = 0
  #start: { readonly time: number; readonly cpu: NodeJS.CpuUsage } | undefined

  /** `started` is called at the first message. */
  constructor(started: () => void = () => {}) {
    this.#started = started
  }

  /** To be called for each message, or each batch. */
  add(count: number): void {
    if (this.#start === undefined) {
      this.#started()
      this.#start = { time: performance.now(), cpu: process.cpuUsage() }
    }
    this.#count += count
  }

  get count(): number {
    return this.#count
  }

  figures(): Figures {
    if (this.#start === undefined) throw new Error('nothing was measured')
    const { user, system } = process.cpuUsage(this.#start.cpu)
    return {
      messages: this.#count,
      seconds: (performance.now() - this.#start.time) / 1_000,
      cpuMicroseconds: (user + system) / this.#count,
    }
  }
}
