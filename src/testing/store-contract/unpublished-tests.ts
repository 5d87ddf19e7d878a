import assert from 'node:assert/strict'
import { type AgingTest, hour } from './aging.ts'
import { later, mark, progress, record, type StoreProbe } from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }
const orders1 = { topic: 'orders', partition: 1 }
const prices0 = { topic: 'prices', partition: 0 }
const outputs = [record('x')]

/** The partitions told, in an order of their own as the store may choose any. */
async function told({ store, service }: StoreProbe, age: number): Promise<readonly string[]> {
  const partitions = await store.unpublished(service, age)
  return partitions.map(({ topic, partition }) => `${topic}/${partition}`).toSorted()
}

/** Which partitions have outputs that wait for too long. */
export const unpublishedTests: Readonly<Record<string, AgingTest>> = {
  async 'a service that stored nothing has nothing unpublished'(probe) {
    assert.deepEqual(await probe.store.unpublished(probe.service, 0), [])
  },

  async 'partitions are told whose outputs are older than that, with their topic id'(probe, age) {
    const [row0, row1] = await probe.acquire({ ...orders0, topicId: 'an id' }, orders1)
    assert.ok(row0 && row1)
    await probe.committed({ ledger: [progress(row0, 1, { outputs })] })
    await age(2 * hour)
    await probe.committed({ ledger: [progress(row1, 1, { outputs })] })
    assert.deepEqual(await probe.store.unpublished(probe.service, hour), [
      { ...orders0, topicId: 'an id' },
    ])
    assert.deepEqual(await told(probe, 3 * hour), [])
    await age(1)
    assert.deepEqual(await told(probe, 0), ['orders/0', 'orders/1'])
  },

  async 'a partition is told once, however many units wait'(probe, age) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 1, { outputs: [...outputs, ...outputs] })] })
    await probe.committed({ ledger: [progress(later(row), 2, { outputs })] })
    await age(2 * hour)
    assert.deepEqual(await told(probe, hour), ['orders/0'])
  },

  async 'partitions without outputs are not told'(probe, age) {
    const [row0] = await probe.acquire(orders0, orders1)
    assert.ok(row0)
    await probe.committed({ marks: [mark('a')], ledger: [progress(row0, 1)] })
    await age(2 * hour)
    assert.deepEqual(await told(probe, hour), [])
  },

  async 'acknowledged outputs do not count'(probe, age) {
    const rows = await probe.acquire(orders0, orders1, prices0)
    await probe.committed({ ledger: rows.map((row) => progress(row, 1, { outputs })) })
    await age(2 * hour)
    assert.deepEqual(await told(probe, hour), ['orders/0', 'orders/1', 'prices/0'])
    const [row0, row1] = rows
    assert.ok(row0 && row1)
    await probe.store.acknowledge(probe.service, [{ ...orders1, epoch: row1.epoch, unit: 1 }])
    assert.deepEqual(await told(probe, hour), ['orders/0', 'prices/0'])
    await probe.committed({ ledger: [progress(later(row0), 2, { acknowledged: 1 })] })
    assert.deepEqual(await told(probe, hour), ['prices/0'])
  },

  async 'what is left after an acknowledgement counts by its own age'(probe, age) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 1, { outputs })] })
    await age(2 * hour)
    await probe.committed({ ledger: [progress(later(row), 2, { outputs })] })
    await age(2 * hour)
    await probe.committed({ ledger: [progress(later(row, 2), 3, { outputs })] })
    assert.deepEqual(await told(probe, 3 * hour), ['orders/0'])
    await probe.store.acknowledge(probe.service, [{ ...orders0, epoch: row.epoch, unit: 1 }])
    assert.deepEqual(await told(probe, 3 * hour), [])
    assert.deepEqual(await told(probe, hour), ['orders/0'])
    await probe.store.acknowledge(probe.service, [{ ...orders0, epoch: row.epoch, unit: 2 }])
    assert.deepEqual(await told(probe, hour), [])
  },

  async 'a new owner and new units make old outputs no younger'(probe, age) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 1, { outputs })] })
    await age(2 * hour)
    const again = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(again, 2, { outputs })] })
    await probe.committed({ ledger: [progress(later(again), 3)] })
    assert.deepEqual(await told(probe, hour), ['orders/0'])
  },

  async 'to be told disturbs no owner'(probe, age) {
    const row = await probe.acquireOne(orders0)
    await probe.committed({ ledger: [progress(row, 1, { outputs })] })
    await age(2 * hour)
    assert.deepEqual(await told(probe, hour), ['orders/0'])
    await probe.committed({ ledger: [progress(later(row), 2)] })
    assert.deepEqual(await told(probe, hour), ['orders/0'])
  },

  async 'outputs of other services do not count'(probe, age) {
    const other = probe.renamed()
    await probe.acquire(orders0)
    const row = await other.acquireOne(orders0)
    await other.committed({ ledger: [progress(row, 1, { outputs })] })
    await age(2 * hour)
    assert.deepEqual(await told(probe, hour), [])
    assert.deepEqual(await told(other, hour), ['orders/0'])
  },
}
