import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PolluxError } from '../../src/errors.ts'
import type { Broker, GroupListener, GroupMember } from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually, within } from '../../src/testing/eventually.ts'
import { connection, idle, makeTopic, record, uniqueName } from './support.ts'

/** A topic of one partition with the records 0, 1, 2, … */
async function filled(broker: Broker, count: number): Promise<string> {
  const topic = await makeTopic(broker, uniqueName('member'), 1)
  const producer = await broker.producer()
  await producer.send(
    Array.from({ length: count }, (_, index) => record(topic, { text: `${index}` })),
  )
  await producer.close()
  return topic
}

function join(
  broker: Broker,
  topic: string,
  listener: Partial<GroupListener> = {},
): Promise<GroupMember> {
  return broker.join(
    { group: topic, topics: [topic], start: 'earliest', logger: silent },
    { ...idle, ...listener },
  )
}

async function take(member: GroupMember, count: number, max = 100): Promise<number[]> {
  const offsets: number[] = []
  await eventually(`${count} records come`, async () => {
    offsets.push(
      ...(await member.poll(Math.min(max, count - offsets.length))).map(({ offset }) => offset),
    )
    return offsets.length >= count
  })
  return offsets
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, index) => from + index)

describe('a member', () => {
  it('commits while nobody polls, and delivers afterwards what came meanwhile, without gap or copy', async () => {
    const broker = connection()
    const topic = await filled(broker, 500)
    const member = await join(broker, topic)
    const offsets = await take(member, 3, 1)
    for (let round = 0; round < 20; round += 1) {
      await within('commit', member.commit([{ topic, partition: 0, offset: 3 }]))
      offsets.push(...(await member.poll(5)).map(({ offset }) => offset))
    }
    offsets.push(...(await take(member, 500 - offsets.length)))
    assert.deepEqual(offsets, range(0, 500))
    await broker.close()
  })

  it('holds back what came during a commit when its partition is paused, and forgets it at a seek', async () => {
    const broker = connection()
    const topic = await filled(broker, 200)
    const member = await join(broker, topic)
    assert.deepEqual(await take(member, 2, 1), [0, 1])
    await member.commit([{ topic, partition: 0, offset: 2 }])
    member.pause([{ topic, partition: 0 }])
    assert.deepEqual(await member.poll(100), [])
    member.resume([{ topic, partition: 0 }])
    assert.deepEqual(await take(member, 10), range(2, 12))
    await member.commit([{ topic, partition: 0, offset: 2 }])
    await member.seek([{ topic, partition: 0, offset: 150 }])
    assert.deepEqual(await take(member, 50), range(150, 200))
    await broker.close()
  })

  it('moves a paused partition, and reads from there once it is resumed', async () => {
    const broker = connection()
    const topic = await filled(broker, 100)
    const member = await join(broker, topic)
    await take(member, 40, 7)
    for (const offset of [90, 10, 55]) {
      member.pause([{ topic, partition: 0 }])
      await member.seek([{ topic, partition: 0, offset }])
      assert.deepEqual(await member.poll(100), [])
      member.resume([{ topic, partition: 0 }])
      assert.deepEqual(await take(member, 5, 2), range(offset, offset + 5))
    }
    await broker.close()
  })

  it('delivers each record once while its partition is paused and resumed all the time', async () => {
    const broker = connection()
    const topic = await filled(broker, 3_000)
    const member = await join(broker, topic)
    const offsets: number[] = []
    await eventually('all records come', async () => {
      offsets.push(...(await member.poll(50)).map(({ offset }) => offset))
      member.pause([{ topic, partition: 0 }])
      member.resume([{ topic, partition: 0 }])
      return offsets.length >= 3_000
    })
    assert.deepEqual(offsets, range(0, 3_000))
    await broker.close()
  })

  it('drops what a poll was just taking when its partition is moved', async () => {
    const broker = connection()
    const topic = await filled(broker, 2_000)
    const member = await join(broker, topic)
    await take(member, 10)
    for (let round = 0; round < 40; round += 1) {
      const target = round % 2 === 0 ? 1_500 : 100
      const pending = member.poll(50)
      // Lets the poll get going, a little further in each round.
      for (let turn = 0; turn < round % 4; turn += 1) await Promise.resolve()
      const seeking = member.seek([{ topic, partition: 0, offset: target }])
      const caught = (await pending).map(({ offset }) => offset)
      assert.deepEqual(caught, range(target, target + caught.length))
      await seeking
      const from = target + caught.length
      assert.deepEqual(await take(member, 5), range(from, from + 5))
    }
    await broker.close()
  })

  it('that blocked for longer than pollLimit loses its partitions, and gets them again', async () => {
    const broker = connection({ sessionTimeout: '2s', pollLimit: '2s' })
    const topic = await filled(broker, 5)
    const events: string[] = []
    const member = await join(broker, topic, {
      async assigned() {
        events.push('assigned')
        return []
      },
      async revoked() {
        events.push('revoked')
      },
      lost: () => void events.push('lost'),
    })
    await take(member, 5)
    const silence = performance.now() + 4_000
    await eventually('four seconds pass without a poll', () => performance.now() > silence)
    await eventually(
      'the partition comes back',
      async () => (await member.poll(1), events.length === 3),
    )
    assert.deepEqual(events, ['assigned', 'lost', 'assigned'])
    await broker.close()
  })

  it('is told of a loss while it is still giving a partition up', async () => {
    const [one, other] = [connection({ sessionTimeout: '2s', pollLimit: '2s' }), connection()]
    const topic = await makeTopic(one, uniqueName('lost'), 2)
    const events: string[] = []
    const gate = Promise.withResolvers<void>()
    const first = await join(one, topic, {
      async assigned() {
        events.push('assigned')
        return []
      },
      async revoked() {
        events.push('revoked')
        await gate.promise
      },
      lost: () => void events.push('lost'),
    })
    await eventually(
      'the partitions are assigned',
      async () => (await first.poll(1), events.length === 1),
    )
    const second = await join(other, topic)
    await eventually(
      'one is wanted back',
      async () => (await Promise.all([first.poll(1), second.poll(1)]), events.length === 2),
    )
    // Nobody polls the first any more: the group puts it out while it drains.
    await eventually(
      'the loss is told',
      async () => (await second.poll(1), events.includes('lost')),
    )
    assert.deepEqual(events, ['assigned', 'revoked', 'lost'])
    gate.resolve()
    await Promise.all([one.close(), other.close()])
  })

  it('whose position is outside of the log says so, and skips nothing', async () => {
    const broker = connection()
    const topic = await filled(broker, 5)
    const first = await join(broker, topic)
    await take(first, 1)
    await first.commit([{ topic, partition: 0, offset: 400 }])
    await first.leave()
    const second = await join(broker, topic)
    await assert.rejects(
      async () => {
        for (let poll = 0; poll < 100; poll += 1) assert.deepEqual(await second.poll(10), [])
      },
      { code: 'POLLUX_OFFSET_RESET' },
    )
    await broker.close()
  })

  it('shares partitions by the broker’s protocol, too', async () => {
    const [one, other] = [
      connection({ protocol: 'consumer' }),
      connection({ protocol: 'consumer' }),
    ]
    const topic = await makeTopic(one, uniqueName('kip848'), 2)
    const owned: Record<'one' | 'other', Set<number>> = { one: new Set(), other: new Set() }
    const listener = (name: 'one' | 'other'): Partial<GroupListener> => ({
      async assigned(given) {
        for (const { partition } of given) owned[name].add(partition)
        return []
      },
      async revoked(taken) {
        for (const { partition } of taken) owned[name].delete(partition)
      },
    })
    const first = await join(one, topic, listener('one'))
    await eventually(
      'the first has both',
      async () => (await first.poll(1), owned.one.size === 2),
      { deadline: 60_000 },
    )
    await first.commit([{ topic, partition: 0, offset: 0 }])
    const second = await join(other, topic, listener('other'))
    await eventually(
      'both have one',
      async () => {
        await Promise.all([first.poll(1), second.poll(1)])
        return owned.one.size === 1 && owned.other.size === 1
      },
      { deadline: 60_000 },
    )
    await Promise.all([one.close(), other.close()])
  })

  it('case 13: that another process puts out by its instanceId stops at once, and names the reason', async () => {
    const [one, other] = [connection({ instanceId: 'svc-1' }), connection({ instanceId: 'svc-1' })]
    const topic = await filled(one, 5)
    const lost: number[] = []
    const first = await join(one, topic, {
      lost: (taken) => void lost.push(...taken.map(({ partition }) => partition)),
    })
    await take(first, 5)
    const second = await join(other, topic)
    await take(second, 5)
    await assert.rejects(
      async () => {
        for (let poll = 0; poll < 200; poll += 1) await first.poll(10)
      },
      (error) => {
        assert.ok(PolluxError.is(error, 'POLLUX_BROKER_REFUSED'), String(error))
        assert.match(error.message, /instanceId/)
        return true
      },
    )
    assert.deepEqual(lost, [0])
    await assert.rejects(first.commit([{ topic, partition: 0, offset: 1 }]), {
      code: 'POLLUX_BROKER_REFUSED',
    })
    await Promise.all([one.close(), other.close()])
  })

  it('that restarts with its instanceId gets its partition back without a rebalance', async () => {
    const one = connection({ instanceId: 'svc-2' })
    const topic = await filled(one, 5)
    const first = await join(one, topic)
    await take(first, 5)
    await first.commit([{ topic, partition: 0, offset: 3 }])
    await one.close()
    const again = connection({ instanceId: 'svc-2' })
    const second = await join(again, topic)
    assert.deepEqual(await take(second, 2), [3, 4])
    await again.close()
  })
})
