/** How outputs are published; undefined: there are none. */
export type Publish = 'outbox' | 'direct'

/** What a contestant is told. */
export interface StoreTask {
  /** Consumer group, and name of the service. */
  readonly group: string
  readonly input: string
  readonly output: string
  /** How many to handle; at least as many lie in the input. */
  readonly messages: number
  /** The schema for the tables. It is there for hand-written ones; Pollux makes its own. */
  readonly schema: string
  readonly publish?: Publish
}
