import type { Publishing } from '../event-service.ts'

/** What a contestant is told. */
export interface StoreTask {
  /** Consumer group, and name of the service. */
  readonly group: string
  readonly input: string
  readonly output: string
  /** How many to handle; at least as many lie in the input. */
  readonly messages: number
  /** The schema for the tables. Empty. */
  readonly schema: string
  readonly publish: Publishing
}
