import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitMetadata } from '../../src/engine/commit-metadata.ts'
import { type TakeOverParts, takeOver } from '../../src/engine/take-over.ts'
import { PolluxError } from '../../src/index.ts'
import type { AssignedPartition, BrokerAdmin, Position } from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import { memoryStore } from '../../src/testing/index.ts'
import { MemoryStoreData } from '../../src/testing/memory-store.ts'

const service = 'counting'
const partitions = 7

/** A log of a hundred records a partition, a ledger that has settled forty of each, and a group that takes commits. */
class Scene {
  readonly data = new MemoryStoreData()
  readonly store = memoryStore(this.data)
  readonly committed: Position[] = []
  refuses = false

  async parts(policy: TakeOverParts['policy']): Promise<TakeOverParts> {
    await this.store.open()
    const admin = {
      topicIds: async () => new Map([['input', 'id']]),
      ranges: async () => assigned().map((place) => ({ ...place, earliest: 0, latest: 100 })),
    } as Partial<BrokerAdmin> as BrokerAdmin
    const rows = await this.store.acquire(
      service,
      assigned().map(({ topic, partition }) => ({ topic, partition, topicId: 'id' })),
    )
    const ledger = rows.map((row) => {
      const progress = { next: 40, settled: [{ from: 50, to: 60 }], outputs: [] }
      return { ...row, ...progress, acknowledged: undefined }
    })
    await this.store.commit({ service, marks: [], states: [], ledger })
    const { store } = this
    return { store, admin, service, policy, logger: silent, commit: (all) => this.#commit(all) }
  }

  async #commit(positions: readonly Position[]): Promise<void> {
    if (this.refuses) throw new PolluxError('POLLUX_BROKER_REFUSED', 'Not ours.')
    this.committed.push(...positions)
  }

  get rows(): readonly unknown[] {
    return [...this.data.ledger.values()].map(({ next, settled }) => ({ next, settled }))
  }
}

/** All partitions, the first of them set to `offset` by somebody else. */
function assigned(offset?: number): readonly AssignedPartition[] {
  return Array.from({ length: partitions }, (_, partition) => {
    const place = { topic: 'input', partition }
    return partition === 0 && offset !== undefined
      ? { ...place, committed: offset, start: offset }
      : { ...place, committed: 40, start: 40, metadata: commitMetadata(40, true) }
  })
}

const untouched = { next: 40, settled: [{ from: 50, to: 60 }] }

test('what is ours already is taken over without a word to the group', async () => {
  const scene = new Scene()
  const taken = await takeOver(await scene.parts('stop'), assigned())
  assert.deepEqual(
    taken.map(({ row }) => row.next),
    assigned().map(() => 40),
  )
  assert.deepEqual(scene.committed, [])
})

test('a partition that is followed moves in the ledger alone, forgets what lies above, and is made ours', async () => {
  const scene = new Scene()
  const [first, second] = await takeOver(await scene.parts('follow'), assigned(10))
  assert.deepEqual(scene.rows, [
    { next: 10, settled: [] },
    ...Array.from({ length: partitions - 1 }, () => untouched),
  ])
  assert.deepEqual([first?.row.next, first?.row.unit, first?.assigned.committed], [10, 2, 10])
  assert.deepEqual([second?.row.next, second?.row.unit], [40, 1])
  assert.deepEqual(scene.committed.at(-1)?.metadata, commitMetadata(10, true))
})

test('a member that the group has put out moves nothing, and stops nobody', async () => {
  for (const policy of ['follow', 'stop'] as const) {
    const scene = new Scene()
    scene.refuses = true
    assert.deepEqual(await takeOver(await scene.parts(policy), assigned(10)), [])
    assert.deepEqual(scene.rows[0], untouched)
  }
})

test('when somebody acquires before the ledger is moved, it is read again', async () => {
  const scene = new Scene()
  const parts = await scene.parts('follow')
  let acquired = 0
  const taken = await takeOver(
    {
      ...parts,
      async commit(positions) {
        await parts.commit(positions)
        acquired += 1
        const [place] = positions
        if (acquired === 1 && place !== undefined)
          await scene.store.acquire(service, [{ ...place, topicId: 'id' }])
      },
    },
    assigned(10),
  )
  assert.equal(acquired, 3, 'proven twice, and committed over')
  assert.equal(taken[0]?.row.epoch, [...scene.data.ledger.values()][0]?.epoch)
  assert.deepEqual(scene.rows[0], { next: 10, settled: [] })
})

test('all partitions that were reset are named, as far as one can read', async () => {
  const scene = new Scene()
  const all = assigned().map(({ metadata: _, ...one }) => ({ ...one, committed: 3, start: 3 }))
  await assert.rejects(takeOver(await scene.parts('stop'), all), (error) => {
    assert.ok(PolluxError.is(error, 'POLLUX_OUTSIDE_RESET'), String(error))
    assert.match(error.message, /input\/0: 3 in the group, 40 in the ledger; input\/1: .*; 2 more/)
    return true
  })
})

test('a position to follow that lies behind the end of the log is refused', async () => {
  const scene = new Scene()
  await assert.rejects(takeOver(await scene.parts('follow'), assigned(101)), {
    code: 'POLLUX_OFFSET_RESET',
  })
  assert.deepEqual(scene.rows[0], untouched)
})
