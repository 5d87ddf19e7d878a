/** What is compared: read only, or read, transform and write. */
export type Workload = 'consume' | 'relay'

/** What a contestant is told. */
export interface LoopTask {
  readonly workload: Workload
  readonly group: string
  readonly input: string
  readonly output: string
  /** How many lie in the input. */
  readonly messages: number
}
