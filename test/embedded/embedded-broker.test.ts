import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { endSessions } from '../../src/embedded/session-keeper.ts'
import { SqliteLog } from '../../src/embedded/sqlite-log.ts'
import type { Broker, GroupListener, GroupMember, OutgoingRecord } from '../../src/ports/broker.ts'
import { type Logger, silent } from '../../src/ports/logger.ts'
import { eventually, within } from '../../src/testing/eventually.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'

const deadline = { deadline: 10_000 }

function record(text: string, partition: number | undefined = 0): OutgoingRecord {
  return {
    topic: 't',
    partition,
    key: null,
    value: Buffer.from(text),
    headers: [],
    timestamp: undefined,
  }
}

function listener(parts: Partial<GroupListener> = {}): GroupListener {
  return { assigned: async () => [], revoked: async () => {}, lost: () => {}, ...parts }
}

async function enter(
  broker: Broker,
  parts: Partial<GroupListener> = {},
  logger: Logger = silent,
): Promise<GroupMember> {
  return broker.join({ group: 'g', topics: ['t'], start: 'earliest', logger }, listener(parts))
}

async function send(broker: Broker, ...texts: readonly string[]): Promise<void> {
  assert.deepEqual(await (await broker.producer()).send(texts.map((text) => record(text))), [])
}

describe('the embedded broker', () => {
  it('wakes a poll by what is sent, while the clock stands still', async () => {
    const clock = new ManualClock(0)
    const broker = embeddedBroker({ clock })
    await broker.admin.createTopics([{ name: 't', partitions: 1 }])
    const member = await enter(broker)
    const first = member.poll(10)
    await send(broker, 'a')
    assert.deepEqual(
      (await within('poll', first)).map(({ value, timestamp }) => [String(value), timestamp]),
      [['a', 0]],
    )
    await clock.advance(5_000)
    const second = member.poll(10)
    await send(broker, 'b')
    assert.equal((await within('poll', second))[0]?.timestamp, 5_000)
    await broker.close()
  })

  it('resolves a poll with nothing after a while, whatever the clock says', async () => {
    const broker = embeddedBroker({ clock: new ManualClock() })
    await broker.admin.createTopics([{ name: 't', partitions: 1 }])
    const member = await enter(broker)
    // The wait alone does not keep a process alive, so something else has to.
    const alive = setInterval(() => {}, 1_000)
    assert.deepEqual(await within('poll', member.poll(10), 10_000), [])
    clearInterval(alive)
    await broker.close()
  })

  it('keeps members of one memory together however far the clock jumps', async () => {
    const clock = new ManualClock(0)
    const memory = sharedMemory()
    const [one, other] = [embeddedBroker({ clock, memory }), embeddedBroker({ clock, memory })]
    await one.admin.createTopics([{ name: 't', partitions: 2 }])
    const lost: string[] = []
    await enter(one, { lost: () => void lost.push('one') })
    await enter(other, { lost: () => void lost.push('other') })
    await clock.advance(86_400_000)
    await eventually(
      'the group is stable',
      async () => (await one.admin.group('g')).state === 'Stable',
      deadline,
    )
    assert.equal((await one.admin.group('g')).members.length, 2)
    assert.deepEqual(lost, [])
    await Promise.all([one.close(), other.close()])
  })

  it('is not changed by a caller who writes into bytes that were sent or received', async () => {
    const broker = embeddedBroker()
    await broker.admin.createTopics([{ name: 't', partitions: 1 }])
    const value = Buffer.from('good')
    const header = Buffer.from('good')
    const producer = await broker.producer()
    await producer.send([{ ...record(''), value, headers: [{ name: 'h', value: header }] }])
    value.fill('x')
    header.fill('x')
    for (let round = 0; round < 2; round += 1) {
      const reader = await broker.reader([{ topic: 't', partition: 0, offset: 0 }])
      const [found] = await reader.poll(1)
      assert.equal(String(found?.value), 'good')
      assert.equal(String(found?.headers[0]?.value), 'good')
      found?.value?.fill('y')
    }
    await broker.close()
  })

  it('refuses a second poll while one is pending, and a poll for no record', async () => {
    const broker = embeddedBroker()
    await broker.admin.createTopics([{ name: 't', partitions: 1 }])
    const member = await enter(broker)
    const pending = member.poll(1)
    await assert.rejects(member.poll(1), {
      code: 'POLLUX_BROKER_REFUSED',
      message: /one poll at a time/,
    })
    await send(broker, 'a')
    assert.equal((await within('poll', pending)).length, 1)
    await assert.rejects(member.poll(0), { code: 'POLLUX_OPTION_INVALID' })
    await broker.close()
  })

  it('does not let a full partition starve another', async () => {
    const broker = embeddedBroker()
    await broker.admin.createTopics([{ name: 't', partitions: 2 }])
    const producer = await broker.producer()
    await producer.send([...Array.from({ length: 100 }, () => record('full')), record('other', 1)])
    const member = await enter(broker)
    const seen: string[] = []
    for (let round = 0; round < 4; round += 1)
      seen.push(...(await member.poll(5)).map(({ value }) => String(value)))
    assert.ok(seen.includes('other'))
    await broker.close()
  })

  it('returns less than max when the records are large, and a single large one always', async () => {
    const broker = embeddedBroker({ maxRecordBytes: 32 * 1024 ** 2 })
    await broker.admin.createTopics([{ name: 't', partitions: 1 }])
    const producer = await broker.producer()
    const large = Buffer.alloc(12 * 1024 ** 2)
    await producer.send([1, 2, 3].map(() => ({ ...record(''), value: large })))
    await producer.send([{ ...record(''), value: Buffer.alloc(20 * 1024 ** 2) }])
    const reader = await broker.reader([{ topic: 't', partition: 0, offset: 0 }])
    const sizes: number[] = []
    while (sizes.reduce((sum, size) => sum + size, 0) < 4)
      sizes.push((await reader.poll(100)).length)
    assert.deepEqual(sizes, [2, 2])
    await broker.close()
  })

  it('warns how many records were missed, and goes on at the log’s beginning', async () => {
    const warnings: string[] = []
    const logger = { ...silent, warn: (_: object, message: string) => void warnings.push(message) }
    const broker = embeddedBroker()
    await broker.admin.createTopics([
      { name: 't', partitions: 1, config: { 'pollux.retention.records': '5' } },
    ])
    await send(broker, ...Array.from({ length: 5 }, (_, index) => `${index}`))
    const first = await enter(broker)
    await first.poll(10)
    await first.commit([{ topic: 't', partition: 0, offset: 2 }])
    await first.leave()
    await send(broker, ...Array.from({ length: 5 }, (_, index) => `${index + 5}`))
    const second = await enter(broker, {}, logger)
    assert.equal((await second.poll(2))[0]?.offset, 5)
    assert.match(warnings.join(), /^3 records of t\/0 were missed/)
    await send(broker, ...Array.from({ length: 5 }, (_, index) => `${index + 10}`))
    assert.equal((await second.poll(2))[0]?.offset, 10)
    assert.match(warnings[1] ?? '', /^3 records of t\/0 were missed: the position 7/)
    await broker.close()
  })

  it('tells a failure of assigned by the next poll, and delivers nothing of those partitions', async () => {
    const broker = embeddedBroker()
    await broker.admin.createTopics([{ name: 't', partitions: 1 }])
    await send(broker, 'a')
    const member = await enter(broker, {
      assigned: () => Promise.reject(new Error('the store is away')),
    })
    await assert.rejects(within('poll', member.poll(1)), /the store is away/)
    await broker.close()
  })

  it('gives a partition on although revoked failed, and tells the failure by the next poll', async () => {
    const memory = sharedMemory()
    const [one, other] = [embeddedBroker({ memory }), embeddedBroker({ memory })]
    await one.admin.createTopics([{ name: 't', partitions: 2 }])
    const member = await enter(one, {
      revoked: () => Promise.reject(new Error('the drain failed')),
    })
    let owned = 0
    const failed = assert.rejects(within('poll', member.poll(1)), /the drain failed/)
    await eventually(
      'all are owned',
      async () => (await one.admin.group('g')).state === 'Stable',
      deadline,
    )
    await enter(other, {
      async assigned(partitions) {
        owned += partitions.length
        return []
      },
    })
    await failed
    await eventually('the other has one', () => owned === 1, deadline)
    await Promise.all([one.close(), other.close()])
  })

  it('takes back a member that comes and goes at once, and leaves no trace of it', async () => {
    const broker = embeddedBroker()
    await broker.admin.createTopics([{ name: 't', partitions: 4 }])
    let assigned = 0
    for (let round = 0; round < 20; round += 1) {
      const member = await enter(broker, {
        async assigned() {
          assigned += 1
          return []
        },
      })
      if (round % 2 === 0) await new Promise((resolve) => setImmediate(resolve))
      await member.leave()
    }
    assert.deepEqual((await broker.admin.group('g')).members, [])
    assert.ok(assigned <= 10)
    await broker.close()
  })

  it('refuses wrong options and subscriptions, all at once', async () => {
    const wrong = { sessionTimeout: 'soon', maxRecordBytes: 0, folder: '', colour: 'red' } as never
    assert.throws(() => embeddedBroker(wrong), {
      code: 'POLLUX_OPTION_INVALID',
      message: /sessionTimeout[\s\S]*maxRecordBytes[\s\S]*colour[\s\S]*folder/,
    })
    const broker = embeddedBroker()
    const subscription = { group: '', topics: [], start: 'earliest', logger: silent } as const
    await assert.rejects(broker.join(subscription, listener()), { code: 'POLLUX_OPTION_INVALID' })
    await broker.admin.createTopics([{ name: 't', partitions: 1 }])
    const beyond = broker.reader([{ topic: 't', partition: 1, offset: 0 }])
    await assert.rejects(beyond, { code: 'POLLUX_TOPIC_UNKNOWN' })
    const member = await enter(broker)
    await assert.rejects(member.commit([{ topic: 't', partition: 0, offset: 2 ** 53 }]), {
      code: 'POLLUX_OFFSET_UNSAFE',
    })
    await broker.close()
  })
})

describe('a member whose session others have ended', () => {
  /** Opened after the test at the latest, so that a failure does not leave a listener waiting. */
  let gate = Promise.withResolvers<void>()

  async function setting(
    test: (broker: Broker, end: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    gate = Promise.withResolvers<void>()
    const folder = await mkdtemp(join(tmpdir(), 'pollux-member-'))
    const broker = embeddedBroker({ folder })
    const other = new SqliteLog(folder)
    try {
      await broker.admin.createTopics([{ name: 't', partitions: 2 }])
      await other.open()
      await test(broker, () => other.write((log) => endSessions(log, log.sessions())))
    } finally {
      gate.resolve()
      await other.close()
      await broker.close()
      await rm(folder, { recursive: true })
    }
  }

  it('is told by lost, is refused until then, and comes back by itself', async () => {
    await setting(async (broker, end) => {
      const events: string[] = []
      const member = await enter(broker, {
        async assigned(partitions) {
          events.push(`assigned ${partitions.length}`)
          return []
        },
        lost: (partitions) => void events.push(`lost ${partitions.length}`),
      })
      await eventually('all are assigned', () => events.join() === 'assigned 2', deadline)
      await end()
      await assert.rejects(member.commit([{ topic: 't', partition: 0, offset: 1 }]), {
        code: 'POLLUX_BROKER_REFUSED',
      })
      await eventually(
        'it is back',
        () => events.join() === 'assigned 2,lost 2,assigned 2',
        deadline,
      )
      await member.commit([{ topic: 't', partition: 0, offset: 1 }])
    })
  })

  it('hears lost while revoked is awaited, and what is revoked then is not released a second time', async () => {
    await setting(async (broker, end) => {
      const events: string[] = []
      const member = await enter(broker, {
        async assigned(partitions) {
          events.push(`assigned ${partitions.length}`)
          return []
        },
        async revoked(partitions) {
          events.push(`revoked ${partitions.length}`)
          await gate.promise
        },
        lost: (partitions) => void events.push(`lost ${partitions.length}`),
      })
      await eventually('all are assigned', () => events.join() === 'assigned 2', deadline)
      const left = member.leave()
      await eventually('revoked is called', () => events.length === 2, deadline)
      await end()
      await eventually(
        'lost is called',
        () => events.join() === 'assigned 2,revoked 2,lost 2',
        deadline,
      )
      gate.resolve()
      await within('leave', left)
      assert.equal(events.length, 3)
    })
  })

  it('hears lost only after assigned has answered, and gets nothing in between', async () => {
    await setting(async (broker, end) => {
      await send(broker, 'a')
      const events: string[] = []
      const member = await enter(broker, {
        async assigned() {
          events.push('assigned')
          await gate.promise
          events.push('answered')
          return []
        },
        lost: () => void events.push('lost'),
      })
      await eventually('assigned is called', () => events.length === 1, deadline)
      await end()
      const poll = member.poll(10)
      assert.deepEqual(events, ['assigned'])
      gate.resolve()
      const records = await within('poll', poll)
      assert.deepEqual(events, ['assigned', 'answered', 'lost', 'assigned', 'answered'])
      assert.equal(records.length, 1)
    })
  })
})
