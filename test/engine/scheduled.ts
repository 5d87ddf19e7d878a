import {
  type Capability,
  defineService,
  type ScheduledContext,
  type Service,
  text,
  topic,
} from '../../src/index.ts'
import { ManualClock, memoryStore } from '../../src/testing/index.ts'
import { MemoryStoreData } from '../../src/testing/memory-store.ts'
import { MemoryTable } from '../testing/transactional-memory-store.ts'

export const input = topic('input', { key: text, value: text, create: { partitions: 2 } })
export const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

interface Table {
  readonly written: ReadonlyMap<string, string>
  write(key: string, value: string): void
}

interface RunContext extends ScheduledContext {
  readonly db: Table
}

export const memoryTable: Capability<Table> = { name: 'memoryTable' }
/** Where the manual clock begins. */
export const start = Date.UTC(2026, 0, 1)

/** A service with a schedule of a second. */
export function scheduled(run: (context: RunContext) => unknown): Service {
  return defineService('timing', {
    inputs: [input],
    outputs: [output],
    uses: { db: memoryTable },
    schedule: { every: '1s', run: run as (context: RunContext) => undefined },
    handle: ({ key, value }, { db }) => db.write(key, value),
  })
}

/** Lets everything that is due at once happen. */
export async function idle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
}

/** What outlives a runtime: a store with a table of the handlers', and the time. */
export function place() {
  const table = new MemoryTable()
  const data = new MemoryStoreData()
  const clock = new ManualClock()
  return { table, data, clock, store: () => table.join(memoryStore(data, clock)) }
}
