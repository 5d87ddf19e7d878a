import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { firstKept } from '../../src/embedded/retention.ts'
import type { Broker, OutgoingRecord } from '../../src/ports/broker.ts'
import type { Clock } from '../../src/ports/clock.ts'

const fixed = { hour: 3_600_000 }

function record(text: string, timestamp?: number): OutgoingRecord {
  return { topic: 't', partition: 0, key: null, value: Buffer.from(text), headers: [], timestamp }
}

async function append(broker: Broker, ...records: readonly OutgoingRecord[]): Promise<void> {
  const producer = await broker.producer()
  assert.deepEqual(await producer.send(records), [])
}

async function range(broker: Broker): Promise<[number, number]> {
  const [first] = await broker.admin.ranges(['t'])
  return [first?.earliest ?? -1, first?.latest ?? -1]
}

/** In memory and in a folder. */
async function both(
  test: (broker: Broker, setTime: (now: number) => void) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-retention-'))
  for (const place of [{}, { folder }]) {
    let now = 1_000_000_000
    const clock: Clock = { now: () => now, after: () => () => {}, random: () => 0 }
    const broker = embeddedBroker({ ...place, clock })
    try {
      await test(broker, (time) => {
        now = time
      })
    } finally {
      await broker.close()
    }
  }
  await rm(folder, { recursive: true })
}

describe('retention', () => {
  it('by count keeps the last records of a partition', async () => {
    await both(async (broker) => {
      await broker.admin.createTopics([
        { name: 't', partitions: 1, config: { 'pollux.retention.records': '3' } },
      ])
      for (let index = 0; index < 10; index += 1) await append(broker, record(`${index}`))
      assert.deepEqual(await range(broker), [7, 10])
      await append(broker, ...Array.from({ length: 10 }, (_, index) => record(`${index}`)))
      assert.deepEqual(await range(broker), [17, 20])
      const reader = await broker.reader([{ topic: 't', partition: 0, offset: 0 }])
      assert.deepEqual(
        (await reader.poll(10)).map(({ offset }) => offset),
        [17, 18, 19],
      )
    })
  })

  it('by age removes what is older, also when nothing is written any more, and keeps the numbering', async () => {
    await both(async (broker, setTime) => {
      const start = 1_000_000_000
      await broker.admin.createTopics([
        { name: 't', partitions: 1, config: { 'retention.ms': `${fixed.hour}` } },
      ])
      await append(
        broker,
        record('a', start),
        record('b', start + 1_000),
        record('c', start + 2_000),
      )
      setTime(start + fixed.hour + 1_000)
      assert.deepEqual(await range(broker), [1, 3])
      setTime(start + 2 * fixed.hour)
      assert.deepEqual(await range(broker), [3, 3])
      await append(broker, record('d'))
      assert.deepEqual(await range(broker), [3, 4])
    })
  })

  it('keeps an old record that stands behind a young one', async () => {
    await both(async (broker, setTime) => {
      const start = 1_000_000_000
      await broker.admin.createTopics([
        { name: 't', partitions: 1, config: { 'retention.ms': `${fixed.hour}` } },
      ])
      await append(broker, record('young', start + fixed.hour), record('old', start))
      setTime(start + fixed.hour + 10)
      assert.deepEqual(await range(broker), [0, 2])
    })
  })

  it('-1 keeps everything, and a wrong setting is refused by its name', async () => {
    await both(async (broker) => {
      const config = {
        'retention.ms': '-1',
        'pollux.retention.records': '-1',
        'cleanup.policy': 'compact',
      }
      await broker.admin.createTopics([{ name: 't', partitions: 1, config }])
      await append(broker, record('a', 0), record('b', 0))
      assert.deepEqual(await range(broker), [0, 2])
      await assert.rejects(
        broker.admin.createTopics([{ name: 'u', partitions: 1, config: { 'retention.ms': '7d' } }]),
        { code: 'POLLUX_OPTION_INVALID', message: /retention\.ms: expected a whole number/ },
      )
    })
  })

  it('never moves a log’s beginning back, nor behind its end', () => {
    fc.assert(
      fc.property(
        fc.nat(1_000),
        fc.nat(1_000),
        fc.option(fc.nat(2_000), { nil: undefined }),
        fc.option(fc.nat(1_000), { nil: undefined }),
        fc.boolean(),
        (earliest, size, retentionRecords, young, hasAgeLimit) => {
          const range = { earliest, latest: earliest + size }
          const firstYoung = young === undefined ? undefined : earliest + Math.min(young, size)
          const kept = firstKept({ range, retentionRecords, firstYoung, hasAgeLimit })
          assert.ok(kept >= earliest && kept <= range.latest)
          if (retentionRecords !== undefined) assert.ok(range.latest - kept <= retentionRecords)
          if (retentionRecords === undefined && !hasAgeLimit) assert.equal(kept, earliest)
        },
      ),
    )
  })
})
