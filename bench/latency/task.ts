import type { Reading } from '../workload.ts'

/** What producer and reader of a run are told. */
export interface LatencyTask {
  readonly topic: string
  /** Messages a second. */
  readonly rate: number
  /** How long messages flow before those that are measured, and for how long those do. */
  readonly warmUpSeconds: number
  readonly seconds: number
}

/** What the service of a run is told. */
export interface ServiceTask {
  readonly group: string
  readonly input: string
  readonly output: string
  readonly schema: string
}

/** What is sent: with the time at which it was due, or 0 while all is warming up. */
export interface TimedReading extends Reading {
  readonly due: number
}

/** What the reader saw, in milliseconds. */
export interface LatencyFigures {
  readonly expected: number
  readonly arrived: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Milliseconds of a clock that all processes of the machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
