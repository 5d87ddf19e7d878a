/**
 * Something outside that a service works with beside its broker and store. `run` opens it before the service joins its
 * group, and closes it when the service has left.
 */
export interface Resource {
  /** What messages call it. Never holds a secret. */
  readonly name: string
  /**
   * Connects, and checks that everything is there. Each call is matched by one of `close`, and several runtimes in a
   * process may have it open. What it rejects with ends the start.
   */
  open(): Promise<void>
  /** Never called before a call of `open` has ended. */
  close(): Promise<void>
}
