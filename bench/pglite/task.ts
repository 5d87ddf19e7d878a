import type { Figures } from '../meter.ts'

/** What a contestant is told. */
export interface PgliteTask {
  /** Where broker and store keep their files; undefined: both are in memory. */
  readonly folder?: string
  readonly hasOutputs: boolean
  readonly messages: number
}

/** What it reports. */
export interface PgliteFigures extends Figures {
  /** How late timers came, in milliseconds: for so long nothing else in the process got its turn. */
  readonly delayP99: number
  readonly delayMax: number
}
