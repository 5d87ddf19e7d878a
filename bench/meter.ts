/** What a contestant reports of its run, as one JSON line. */
export interface Figures {
  readonly messages: number
  /** From the first message to the last commit. */
  readonly seconds: number
  /** CPU of the whole process in that time, per message. */
  readonly cpuMicroseconds: number
}

/** Counts messages; measures from the first one to the end. */
export class Meter {
  #count = 0
  #start: { readonly time: number; readonly cpu: NodeJS.CpuUsage } | undefined

  /** To be called for each message, or each batch. */
  add(count: number): void {
    this.#start ??= { time: performance.now(), cpu: process.cpuUsage() }
    this.#count += count
  }

  get count(): number {
    return this.#count
  }

  /** Prints the figures. */
  report(): void {
    if (this.#start === undefined) throw new Error('nothing was measured')
    const { user, system } = process.cpuUsage(this.#start.cpu)
    const figures: Figures = {
      messages: this.#count,
      seconds: (performance.now() - this.#start.time) / 1_000,
      cpuMicroseconds: (user + system) / this.#count,
    }
    console.log(JSON.stringify(figures))
  }
}
