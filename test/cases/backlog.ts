import assert from 'node:assert/strict'
import type { Broker } from '../../src/ports/broker.ts'
import { eventually } from '../../src/testing/index.ts'
import { Child } from '../crash/child-process.ts'
import type { BacklogSettings } from './backlog-process.ts'

const messages = 50_000
const size = 12 * 1024
const seconds = 30
const mebibyte = 1024 ** 2

interface Report {
  readonly rss: number
  readonly waiting: number
  readonly handled: number
  readonly assignments: number
}

/** 50 000 messages of 12 KB are waiting, a handler takes 200 ms, and the heap has 256 MB. */
export async function meetBacklog(broker: Broker, settings: BacklogSettings): Promise<void> {
  await fill(broker, settings.topic)
  const child = new Child('cases/backlog-process.ts', settings, ['--max-old-space-size=256'])
  try {
    const reports = (): Report[] => child.lines.map((line) => JSON.parse(line) as Report)
    const start = await eventually(
      'it works',
      () => child.hasEnded || reports().find(({ handled }) => handled > 0),
      { deadline: 60_000 },
    )
    assert.notEqual(start, true, child.errors)
    const enough = reports().length + seconds * 2
    await eventually('half a minute of work', () => child.hasEnded || reports().length >= enough, {
      deadline: 120_000,
    })
    assert.ok(!child.hasEnded, child.errors)
    const all = reports()
    const most = Math.max(...all.map(({ waiting }) => waiting))
    // The buffer's 32 MB, what one poll may bring above it, and the client's own 16 MB.
    assert.ok(most * size < 64 * mebibyte, `${most} messages were buffered`)
    const rss = Math.max(...all.map((one) => one.rss))
    assert.ok(rss < 300 * mebibyte, `it took ${Math.round(rss / mebibyte)} MB`)
    const last = all.at(-1)
    assert.ok((last?.handled ?? 0) > 16 * 2 * seconds, `only ${last?.handled} were handled`)
    assert.equal(last?.assignments, all[0]?.assignments, 'it has kept its partitions')
    const { members } = await broker.admin.group(settings.group)
    assert.equal(members.length, 1)
    child.signal('SIGTERM')
    assert.equal(await child.ended(10_000), 0, child.errors)
    const { offsets } = await broker.admin.group(settings.group)
    const committed = offsets.reduce((sum, { offset }) => sum + offset, 0)
    assert.ok(
      committed >= (last?.handled ?? 0),
      `${committed} are committed, ${last?.handled} were handled`,
    )
  } finally {
    await child.kill()
  }
}

async function fill(broker: Broker, topic: string): Promise<void> {
  await broker.connect()
  await broker.admin.createTopics([{ name: topic, partitions: 4 }])
  const producer = await broker.producer()
  const value = Buffer.alloc(size, 'x')
  for (let sent = 0; sent < messages; sent += 1_000) {
    await producer.send(
      Array.from({ length: 1_000 }, (_, index) => {
        return {
          topic,
          partition: index % 4,
          key: Buffer.from(`${sent + index}`),
          value,
          headers: [],
          timestamp: undefined,
        }
      }),
    )
  }
  await producer.close()
}
