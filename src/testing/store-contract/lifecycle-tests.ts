import assert from 'node:assert/strict'
import { PolluxError } from '../../errors.ts'
import { change, progress, StoreProbe, type StoresTest } from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }

export const lifecycleTests: Readonly<Record<string, StoresTest>> = {
  async 'a store has a name for messages'(newStore) {
    const store = newStore()
    assert.ok(store.name.length > 0)
    await store.close()
  },

  async 'open may be called again, also at once, and keeps what is there'(newStore) {
    const store = newStore()
    try {
      await Promise.all([store.open(), store.open()])
      const probe = new StoreProbe(store)
      const version = await probe.put('k', 'v', 0)
      await store.open()
      assert.deepEqual(await probe.loadOne('k'), { value: Buffer.from('v'), version })
    } finally {
      await store.close()
    }
  },

  async 'what was committed is there after closing and opening'(newStore) {
    const first = await StoreProbe.open(newStore())
    const row = await first.acquireOne(orders0)
    const [version] = await first.committed(
      [change('k', 'v', 0)],
      [progress(row, 3, [{ from: 5, to: 6 }])],
    )
    await first.store.close()
    const second = await StoreProbe.open(newStore(), first.service)
    try {
      assert.deepEqual(await second.loadOne('k'), { value: Buffer.from('v'), version })
      const again = await second.acquireOne(orders0)
      assert.ok(again.epoch > row.epoch)
      assert.equal(again.next, 3)
      assert.deepEqual(again.settled, [{ from: 5, to: 6 }])
      const next = await second.put('k', 'w', version as number)
      assert.ok(next > (version as number), 'versions go on where they were')
    } finally {
      await second.store.close()
    }
  },

  async 'use before open is refused'(newStore) {
    const store = newStore()
    await refuses(new StoreProbe(store))
    await store.close()
  },

  async 'use after close is refused'(newStore) {
    const probe = await StoreProbe.open(newStore())
    await probe.store.close()
    await refuses(probe)
    await assert.rejects(probe.store.open(), isFailed)
  },

  async 'close may be called again, also at once, and without open'(newStore) {
    const store = newStore()
    await store.open()
    await Promise.all([store.close(), store.close()])
    await store.close()
    await newStore().close()
  },

  async 'close waits for commits under way, which are then there'(newStore) {
    const first = await StoreProbe.open(newStore())
    const results = Promise.all(
      Array.from({ length: 5 }, (_, index) => first.commit([change(`k${index}`, 'v', 0)])),
    )
    await first.store.close()
    assert.deepEqual(
      (await results).map(({ outcome }) => outcome),
      Array.from({ length: 5 }, () => 'committed'),
    )
    const second = await StoreProbe.open(newStore(), first.service)
    try {
      const rows = await second.load(...Array.from({ length: 5 }, (_, index) => `k${index}`))
      assert.ok(rows.every(({ value }) => value?.toString() === 'v'))
    } finally {
      await second.store.close()
    }
  },
}

async function refuses(probe: StoreProbe): Promise<void> {
  await assert.rejects(probe.acquire(orders0), isFailed)
  await assert.rejects(probe.load('k'), isFailed)
  await assert.rejects(probe.load(), isFailed)
  await assert.rejects(probe.commit([]), isFailed)
}

function isFailed(error: unknown): boolean {
  return PolluxError.is(error, 'POLLUX_STORE_FAILED')
}
