import type { Message } from '../../message.ts'
import type { OutputMessage } from '../../topic.ts'
import type { Arrival } from './rules.ts'

/** A message, with the facts in it that are left to do, and what it came to. */
export class Brought<M extends Message> {
  readonly message: M
  readonly key: string | undefined
  readonly left: Arrival[]
  readonly outputs: OutputMessage[] = []
  error: unknown

  constructor(
    message: M,
    { key, arrivals }: { readonly key: string | undefined; readonly arrivals: readonly Arrival[] },
  ) {
    this.message = message
    this.key = key
    this.left = [...arrivals]
  }

  async add(work: () => Promise<readonly OutputMessage[]>): Promise<void> {
    if (this.error !== undefined) return
    try {
      this.outputs.push(...(await work()))
    } catch (error: unknown) {
      this.error = error
    }
  }
}
