import assert from 'node:assert/strict'
import { PolluxError } from '../../errors.ts'
import {
  change,
  mark,
  outputsOf,
  progress,
  record,
  StoreProbe,
  type StoresTest,
  stateRow,
} from './store-probe.ts'

const orders0 = { topic: 'orders', partition: 0 }

/** Opening and closing, and what outlives it. */
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
      assert.deepEqual(await probe.loadOne('k'), stateRow('v', version))
    } finally {
      await store.close()
    }
  },

  async 'what was committed is there after closing and opening'(newStore) {
    const first = await StoreProbe.open(newStore())
    const row = await first.acquireOne(orders0)
    const settled = [{ from: 5, to: 6 }]
    const [version] = await first.committed({
      marks: [mark('a')],
      states: [change('k', 'v', 0, 'g')],
      ledger: [progress(row, 3, { settled, outputs: [record('x')] })],
    })
    await first.store.close()
    const second = await StoreProbe.open(newStore(), first.service)
    try {
      assert.deepEqual(await second.loadOne('k'), stateRow('v', version, 'g'))
      assert.deepEqual(await second.applied(mark('a')), [true])
      const again = await second.acquireOne(orders0)
      assert.ok(again.epoch > row.epoch)
      assert.equal(again.unit, 1)
      assert.equal(again.next, 3)
      assert.deepEqual(again.settled, settled)
      assert.deepEqual(outputsOf(again), [[1, ['x']]])
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
      Array.from({ length: 5 }, (_, index) =>
        first.commit({ marks: [mark(`m${index}`)], states: [change(`k${index}`, 'v', 0)] }),
      ),
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
      const marks = Array.from({ length: 5 }, (_, index) => mark(`m${index}`))
      assert.ok((await second.applied(...marks)).every(Boolean))
    } finally {
      await second.store.close()
    }
  },
}

async function refuses(probe: StoreProbe): Promise<void> {
  const { store, service } = probe
  await assert.rejects(probe.acquire(orders0), isFailed)
  await assert.rejects(probe.acquire(), isFailed)
  await assert.rejects(probe.load('k'), isFailed)
  await assert.rejects(probe.load(), isFailed)
  await assert.rejects(probe.applied(mark('a')), isFailed)
  await assert.rejects(probe.commit({}), isFailed)
  await assert.rejects(store.acknowledge(service, [{ ...orders0, epoch: 1, unit: 1 }]), isFailed)
  await assert.rejects(store.acknowledge(service, []), isFailed)
  await assert.rejects(store.holds(service, []), isFailed)
  await assert.rejects(store.unpublished(service, 0), isFailed)
  await assert.rejects(store.forget(service, 0), isFailed)
  if (store.transactions !== undefined) await assert.rejects(store.transactions.begin(), isFailed)
}

function isFailed(error: unknown): boolean {
  return PolluxError.is(error, 'POLLUX_STORE_FAILED')
}
