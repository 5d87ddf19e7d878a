import { PolluxError, type Target } from '../../../src/index.ts'
import type { RowChange, RowShape } from '../../../src/ports/target.ts'

/** A target that keeps what it was given, and is away when it is told so. */
export class MemoryTarget implements Target {
  readonly name = 'memory'
  readonly changes: RowChange[] = []
  readonly events: string[] = []
  shape: RowShape | undefined
  isAway = false
  /** How many changes each call had. */
  readonly sizes: number[] = []

  check(): void {}

  rows(shape: RowShape): ReturnType<Target['rows']> {
    this.shape = shape
    return {
      name: this.name,
      open: async () => void this.events.push('open'),
      close: async () => void this.events.push('close'),
      write: async (changes) => {
        this.sizes.push(changes.length)
        if (this.isAway) throw new PolluxError('POLLUX_TARGET_UNREACHABLE', 'It is away.')
        this.events.push('write')
        this.changes.push(...changes)
        return changes.map(() => undefined)
      },
    }
  }
}
