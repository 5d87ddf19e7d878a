import type { Clock } from '../../ports/clock.ts'
import type { Logger } from '../../ports/logger.ts'
import { type ExitCode, exitCodes, worstExitCode } from '../exit-codes.ts'
import {
  codeOfEnd,
  healthyAfter,
  judgeWorkerEnd,
  restartDelay,
  type WorkerEnd,
} from './restart-policy.ts'
import type { WorkerOrder } from './stop-control.ts'

/** A worker process, as the pool sees it. */
export interface WorkerProcess {
  order(order: WorkerOrder): void
  /** Ends it at once. */
  kill(): void
}

/** What a worker process tells. */
export interface WorkerEvents {
  ready(): void
  ended(code: number | null, signal: string | null): void
}

export interface WorkerPoolOptions {
  readonly count: number
  /** Milliseconds after which workers that do not stop are killed. */
  readonly killAfter: number
  readonly clock: Clock
  readonly logger: Logger
  /** Starts worker `number`, from 1. */
  start(number: number, events: WorkerEvents): WorkerProcess
}

interface Slot {
  readonly number: number
  process: WorkerProcess | undefined
  isReady: boolean
  startedAt: number
  crashes: number
  cancelRestart: (() => void) | undefined
}

/**
 * Keeps `count` workers running. The first one starts alone: what is wrong with module, configuration or broker then
 * shows once, not `count` times.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #slots: Slot[] = []
  readonly #codes: number[] = []
  readonly #done = Promise.withResolvers<ExitCode>()
  #isStopping = false
  #isKilling = false
  #cancelKill: (() => void) | undefined

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#add()
  }

  /** The worst exit code, when the last worker has ended. */
  get done(): Promise<ExitCode> {
    return this.#done.promise
  }

  /** Lets all finish what they have begun, and starts none again. */
  stop(): void {
    if (this.#isStopping) return
    this.#isStopping = true
    for (const slot of this.#slots) {
      slot.cancelRestart?.()
      slot.cancelRestart = undefined
      slot.process?.order('stop')
    }
    this.#cancelKill = this.#options.clock.after(this.#options.killAfter, () => this.#kill())
    this.#finishIfOver()
  }

  /** Lets them cut short what they have begun. */
  hurry(): void {
    this.stop()
    for (const slot of this.#slots) slot.process?.order('hurry')
  }

  #kill(): void {
    this.#isKilling = true
    for (const slot of this.#slots) {
      if (slot.process === undefined) continue
      this.#options.logger.error(
        { worker: this.#name(slot) },
        'the worker did not stop in time and is killed',
      )
      slot.process.kill()
    }
  }

  /** As the worker's own log lines name it. */
  #name({ number }: Slot): string {
    return `${number}/${this.#options.count}`
  }

  #add(): void {
    const slot: Slot = {
      number: this.#slots.length + 1,
      process: undefined,
      isReady: false,
      startedAt: 0,
      crashes: 0,
      cancelRestart: undefined,
    }
    this.#slots.push(slot)
    this.#start(slot)
  }

  #start(slot: Slot): void {
    slot.isReady = false
    slot.cancelRestart = undefined
    slot.startedAt = this.#options.clock.now()
    slot.process = this.#options.start(slot.number, {
      ready: () => this.#onReady(slot),
      ended: (code, signal) => this.#onEnded(slot, { code, signal, wasReady: slot.isReady }),
    })
  }

  #onReady(slot: Slot): void {
    slot.isReady = true
    if (this.#isStopping) return
    while (this.#slots.length < this.#options.count) this.#add()
  }

  #onEnded(slot: Slot, end: WorkerEnd): void {
    slot.process = undefined
    const judgement = this.#isStopping ? 'let-be' : judgeWorkerEnd(end)
    if (judgement === 'restart') return this.#restartLater(slot, end)
    this.#codes.push(
      this.#isKilling && end.signal === 'SIGKILL' ? exitCodes.deadline : codeOfEnd(end),
    )
    if (judgement === 'stop-all') {
      this.#options.logger.error(
        { worker: this.#name(slot), exitCode: end.code },
        'a worker failed; all workers stop',
      )
      this.stop()
    } else if (!this.#isStopping) {
      this.#options.logger.warn(
        { worker: this.#name(slot), exitCode: end.code },
        'a worker was stopped; it is not started again',
      )
    }
    this.#finishIfOver()
  }

  #restartLater(slot: Slot, { code, signal }: WorkerEnd): void {
    const { clock, logger } = this.#options
    slot.crashes = clock.now() - slot.startedAt >= healthyAfter ? 1 : slot.crashes + 1
    const delay = restartDelay(slot.crashes, clock.random())
    const reason = signal === null ? { exitCode: code } : { signal }
    logger.error(
      { worker: this.#name(slot), ...reason, restartInMs: delay },
      'a worker crashed; it is started again',
    )
    slot.cancelRestart = clock.after(delay, () => this.#start(slot))
  }

  #finishIfOver(): void {
    if (this.#slots.some((slot) => slot.process !== undefined || slot.cancelRestart !== undefined))
      return
    this.#cancelKill?.()
    this.#done.resolve(worstExitCode(this.#codes))
  }
}
