import { errorText } from '../errors.ts'
import { nextWait } from '../pause.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { ServiceCounts } from './counts.ts'
import type { Waits } from './waits.ts'

// Less may be the trouble of one message alone: an address in it where nobody is.
const enough = 5

const what = 'something that handlers need'

/** What it needs of its surroundings. */
export interface OutageParts {
  readonly clock: Clock
  readonly logger: Logger
  readonly waits: Waits
  readonly counts: ServiceCounts
  /** Messages may start again, or one of them. */
  dispatch(): void
}

/**
 * Notices when handlers fail for reasons that are no message's fault, and none succeeds: then nothing is started but one
 * message now and then, to see whether it works again. What is fetched fills the buffer meanwhile and stops fetching; the
 * membership stays, and the process is not ready.
 */
export class Outage {
  readonly #parts: OutageParts
  /** Since the last handler that succeeded. */
  #failures = 0
  #open: { probes: number; nextAt: number; readonly endWait: () => void } | undefined
  #callOff: (() => void) | undefined
  readonly #waiting = new Set<() => void>()

  constructor(parts: OutageParts) {
    this.#parts = parts
  }

  /** @param running how many handlers run now */
  mayStart(running: number): boolean {
    if (this.#open === undefined) return true
    return running === 0 && this.#parts.clock.now() >= this.#open.nextAt
  }

  /** A handler has failed for such a reason. `endWait` lets its message be tried again before its time. */
  failed(error: Error, endWait: () => void): void {
    this.#waiting.add(endWait)
    this.#failures += 1
    if (this.#open !== undefined) {
      this.#open.probes += 1
      return this.#pause()
    }
    if (this.#failures < enough) return
    const { logger, waits, counts } = this.#parts
    counts.outages += 1
    logger.warn(
      { error: errorText(error) },
      'handlers fail, and no message is at fault: waiting until one succeeds',
    )
    this.#open = { probes: 0, nextAt: 0, endWait: waits.begin(what) }
    this.#pause()
  }

  /** A message does not wait any longer. */
  forget(endWait: () => void): void {
    this.#waiting.delete(endWait)
  }

  /** A handler has succeeded, or has failed for a reason of its message. */
  worked(): void {
    if (this.#failures === 0) return
    this.#failures = 0
    if (this.#open === undefined) return
    this.#open.endWait()
    this.#open = undefined
    this.#callOff?.()
    this.#parts.logger.info({}, 'handlers work again')
    for (const endWait of [...this.#waiting]) endWait()
    this.#parts.dispatch()
  }

  stop(): void {
    this.#callOff?.()
    this.#open?.endWait()
  }

  #pause(): void {
    const { clock, dispatch } = this.#parts
    if (this.#open === undefined) return
    const wait = nextWait(clock, this.#open.probes)
    this.#open.nextAt = clock.now() + wait
    this.#callOff?.()
    this.#callOff = clock.after(wait, dispatch)
  }
}
