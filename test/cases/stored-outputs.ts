import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeRecord } from '../../src/engine/outputs.ts'
import { defineService, text, topic } from '../../src/index.ts'
import type { LedgerRow, Store } from '../../src/ports/store.ts'
import type { Cluster } from './lives/cluster.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 2 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

/** The numbered cases about outputs that are stored first and published then, on a kind of store. */
export function storedOutputsCases(
  name: string,
  newCluster: () => { readonly cluster: Cluster; newStore(): Store },
): void {
  test(`case 30: late acknowledgements of a former owner delete nothing of its successor; ${name}`, async () => {
    const { newStore } = newCluster()
    const stores = [newStore(), newStore(), newStore()] as const
    for (const store of stores) await store.open()
    const [former, next, last] = stores
    const place = { topic: 'input', partition: 0 }
    const acquire = async (store: Store): Promise<LedgerRow> => {
      const [row] = await store.acquire('case-30-late', [{ ...place, topicId: 'id' }])
      assert.ok(row)
      return row
    }
    const commit = async (store: Store, row: LedgerRow, unit: number): Promise<void> => {
      const outputs = [encodeRecord(output.message({ key: 'k', value: `${unit}` }))]
      const change = { ...row, unit: unit - 1, next: unit, outputs, acknowledged: undefined }
      const result = await store.commit({
        service: 'case-30-late',
        marks: [],
        states: [],
        ledger: [change],
      })
      assert.equal(result.outcome, 'committed')
    }
    const first = await acquire(former)
    for (const unit of [1, 2, 3]) await commit(former, first, unit)
    const second = await acquire(next)
    assert.deepEqual(
      second.unpublished.map(({ unit }) => unit),
      [1, 2, 3],
    )
    await next.acknowledge('case-30-late', [{ ...place, epoch: second.epoch, unit: 2 }])
    for (const unit of [4, 5]) await commit(next, second, unit)
    // The former owner wakes up, and tells what it knows: less than its successor, and more.
    for (const unit of [1, 3])
      await former.acknowledge('case-30-late', [{ ...place, epoch: first.epoch, unit }])
    const { unpublished } = await acquire(last)
    assert.deepEqual(
      unpublished.map(({ unit }) => unit),
      [3, 4, 5],
    )
    for (const store of stores) await store.close()
  })

  test(`case 30: a process that stalls with outputs on their way loses its partition: each goes out, in the order of its key, under one id; ${name}`, async () => {
    const made = newCluster()
    using cluster = made.cluster
    await cluster.createTopics(input, output)
    const service = defineService('case-30', {
      inputs: [input],
      outputs: [output],
      publish: 'outbox',
      handle: ({ key, value }) => output.message({ key, value }),
    })
    const send = (from: number, to: number) =>
      cluster.send(
        ...Array.from({ length: to - from }, (_, n) => from + n).flatMap((n) =>
          [0, 1].flatMap((partition) =>
            ['a', 'b'].map((key) =>
              input.message({ key: `${key}${partition}`, value: `${n}`, partition }),
            ),
          ),
        ),
      )
    const gates = { stalled: Promise.withResolvers<void>(), next: Promise.withResolvers<void>() }
    let isStalled = false
    await cluster.start(service, {
      watch: {
        publishing() {
          isStalled = true
          return gates.stalled.promise
        },
      },
    })
    await send(0, 10)
    await cluster.until('the first stalls', () => isStalled)
    let published = 0
    let isNextWaiting = false
    const next = await cluster.start(service, {
      watch: {
        publishing(records) {
          published += records.length
          if (published <= 20) return undefined
          isNextWaiting = true
          return gates.next.promise
        },
      },
    })
    // Longer than the first is given to finish.
    await cluster.until('the second has a partition', () => next.counts[0]?.recovered === 20, 5_000)
    await send(10, 12)
    await cluster.until('the second has stored more', () => isNextWaiting)
    gates.stalled.resolve()
    const store = made.newStore()
    await store.open()
    await cluster.until('the first has published all of its own', async () => {
      const ids = (await cluster.records(output)).map(({ headers }) => String(headers[0]?.value))
      return new Set(ids).size === 44
    })
    const left = async () => (await store.unpublished('case-30', 0)).length
    await cluster.until('the first has told the store', async () => (await left()) === 1)
    await cluster.clock.advance(5_000)
    assert.equal(await left(), 1, 'what the second has stored is still there')
    gates.next.resolve()
    await cluster.until('all is settled', () => cluster.isSettled(service))
    await cluster.until('the store has nothing left', async () => (await left()) === 0)
    await store.close()
    const records = await cluster.records(output)
    const ids = new Map<string, string>()
    for (const { key, value, headers } of records) {
      const id = String(headers[0]?.value)
      assert.equal(ids.get(id) ?? `${key} ${value}`, `${key} ${value}`)
      ids.set(id, `${key} ${value}`)
    }
    assert.equal(ids.size, 48)
    for (const [key, own] of Map.groupBy(records, (record) => String(record.key))) {
      const firsts = [...new Set(own.map(({ value }) => Number(value)))]
      assert.deepEqual(
        firsts,
        Array.from({ length: 12 }, (_, n) => n),
        key,
      )
    }
  })
}
