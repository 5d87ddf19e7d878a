import { pgliteStore } from '../../src/embedded/pglite-store.ts'
import type { LedgerChange, LedgerRow } from '../../src/ports/store.ts'

// Commits units for ever. Says where it starts, and each unit whose commit was answered. Before
// that it checks what the process before it left: state, ledger, marks and outputs tell of the same
// number of units.
const [folder = ''] = process.argv.slice(2)
const service = 'counter'
const keys = 20

const store = pgliteStore({ folder })
await store.open()
const [row] = await store.acquire(service, [{ topic: 'ticks', partition: 0, topicId: 'id' }])
if (row === undefined) throw new Error('no ledger row')
const names = [
  Buffer.from('count'),
  ...Array.from({ length: keys }, (_, index) => Buffer.from(`key ${index}`)),
]
const { states } = await store.load(service, names, [])
const versions = states.map(({ version }) => version)
let count = Number(states[0]?.value?.toString() ?? 0)
const begun = count
const last = count === 0 ? [] : [String(count)]
const stored = row.unpublished.flatMap(({ records }) => records.map(({ value }) => `${value}`))
const { applied } = await store.load(
  service,
  [],
  [count - 1, count].map((id) => ({ topic: 'ticks', id: Buffer.from(String(id)) })),
)

const found = JSON.stringify(states.slice(1).map(({ value }) => value && value.readUInt32BE(0)))
const expected = JSON.stringify(
  Array.from({ length: keys }, (_, index) => lastWrite(count, index) ?? null),
)
if (stored.join() !== last.join() || applied.join() !== `${count > 0},false`) {
  console.log(`broken: outputs ${stored}, marks ${applied}, count ${count}`)
} else if ((row.next ?? 0) !== count || found !== expected) {
  console.log(`broken: ledger ${row.next}, count ${count}, keys ${found} instead of ${expected}`)
} else {
  console.log(`start ${count}`)
  for (;;) await commitNext()
}

async function commitNext(): Promise<void> {
  const slot = 1 + (count % keys)
  const changed = [0, slot]
  const value = Buffer.alloc(2_000, count)
  value.writeUInt32BE(count + 1)
  const result = await store.commit({
    service,
    marks: [{ topic: 'ticks', partition: 0, offset: count, id: Buffer.from(String(count)) }],
    states: changed.map((index) => ({
      key: names[index] as Buffer,
      value: index === 0 ? Buffer.from(String(count + 1)) : value,
      version: versions[index] as number,
      guard: null,
    })),
    ledger: [change(count)],
  })
  if (result.outcome !== 'committed') {
    console.log(`broken: ${result.outcome}`)
    process.exit()
  }
  for (const [index, slotChanged] of changed.entries()) {
    versions[slotChanged] = result.versions[index] as number
  }
  count += 1
  console.log(`committed ${count}`)
}

/** The unit's progress; it stores an output, and acknowledges the one before. */
function change(done: number): LedgerChange {
  const { epoch, unit } = row as LedgerRow
  const value = Buffer.from(String(done + 1))
  const headers = [{ name: 'id', value }]
  const output = { topic: 'tocks', partition: undefined, key: null, value, headers }
  return {
    topic: 'ticks',
    partition: 0,
    epoch,
    unit: unit + (done - begun),
    next: done + 1,
    settled: [],
    outputs: [{ ...output, timestamp: undefined }],
    acknowledged: done === 0 ? undefined : unit + (done - begun),
  }
}

/** The last unit, of the first `count`, that wrote the key at `index`. */
function lastWrite(count: number, index: number): number | undefined {
  const last = count - ((((count - 1 - index) % keys) + keys) % keys)
  return last > 0 ? last : undefined
}
