import assert from 'node:assert/strict'
import type { TopicPartition } from '../../ports/broker.ts'
import { silent } from '../../ports/logger.ts'
import { holds } from '../eventually.ts'
import { type ContractTest, numbered, record, texts } from './cluster.ts'
import { GroupProbe, partitionName } from './group-probe.ts'

const listener = { assigned: async () => [], revoked: async () => {}, lost: () => {} }

function bare({ topic, partition }: TopicPartition): TopicPartition {
  return { topic, partition }
}

/** One member alone: start, commit, resume, seek, pause, leave. */
export const groupTests: readonly ContractTest[] = [
  {
    title:
      'a new group that starts at the earliest record gets all of them, in order per partition',
    async run(cluster) {
      const topic = await cluster.topic(2)
      await cluster.send([...numbered(topic, 30, 0), ...numbered(topic, 30, 1)])
      const probe = await GroupProbe.join(cluster, {
        group: cluster.uniqueName(),
        topics: [topic],
        max: 7,
      })
      await cluster.eventually('all records come', () => probe.records.length >= 60)
      const expected = Array.from({ length: 30 }, (_, index) => `${index}`)
      assert.deepEqual(probe.textsOf(0), expected)
      assert.deepEqual(probe.textsOf(1), expected)
      const told = probe.assigned.map(({ partition, committed, start }) => ({
        partition,
        committed,
        start,
      }))
      assert.deepEqual(
        told.toSorted((one, other) => one.partition - other.partition),
        [0, 1].map((partition) => ({ partition, committed: undefined, start: 0 })),
      )
    },
  },
  {
    title:
      'a new group that starts at the latest record gets only what is sent after its assignment',
    async run(cluster) {
      const topic = await cluster.topic(1)
      await cluster.send(numbered(topic, 5, 0, 'old'))
      const probe = await GroupProbe.join(cluster, {
        group: cluster.uniqueName(),
        topics: [topic],
        start: 'latest',
      })
      await cluster.eventually('the partition is assigned', () => probe.owned.size === 1)
      assert.equal(probe.assigned[0]?.start, 5)
      await cluster.send(numbered(topic, 3, 0, 'new'))
      await cluster.eventually('the new records come', () => probe.records.length >= 3)
      assert.deepEqual(texts(probe.records), ['new0', 'new1', 'new2'])
    },
  },
  {
    title: 'a position is kept with its metadata, until one without replaces it',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const group = cluster.uniqueName()
      const { admin } = await cluster.broker()
      const first = await GroupProbe.join(cluster, { group, topics: [topic] })
      await cluster.eventually('the partition is assigned', () => first.owned.size === 1)
      const place = { topic, partition: 0 }
      const metadata = 'a text; with=signs/1'
      await cluster.within('commit', first.member.commit([{ ...place, offset: 0, metadata }]))
      assert.deepEqual((await admin.group(group)).offsets, [{ ...place, offset: 0, metadata }])
      await cluster.within('leave', first.leave())
      const second = await GroupProbe.join(cluster, { group, topics: [topic] })
      await cluster.eventually('the partition is assigned again', () => second.owned.size === 1)
      assert.equal(second.assigned[0]?.metadata, metadata)
      await cluster.within('commit', second.member.commit([{ ...place, offset: 0 }]))
      assert.deepEqual((await admin.group(group)).offsets, [{ ...place, offset: 0 }])
    },
  },
  {
    title: 'a position can be committed while its partition is being assigned',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const group = cluster.uniqueName()
      await cluster.send(numbered(topic, 3))
      const joined = Promise.withResolvers<GroupProbe>()
      let seen = -1
      const probe = await GroupProbe.join(cluster, {
        group,
        topics: [topic],
        async assigned(partitions) {
          const { member, records } = await joined.promise
          await member.commit(partitions.map((place) => ({ ...bare(place), offset: 1 })))
          seen = records.length
          return partitions.map((place) => ({ ...bare(place), offset: 1 }))
        },
      })
      joined.resolve(probe)
      await cluster.eventually('the rest comes', () => probe.records.length >= 2)
      assert.equal(seen, 0, 'nothing came before')
      const { offsets } = await (await cluster.broker()).admin.group(group)
      assert.deepEqual(offsets, [{ topic, partition: 0, offset: 1 }])
      assert.deepEqual(texts(probe.records), ['1', '2'])
    },
  },
  {
    title: 'a group resumes at its committed position, whatever start says',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const group = cluster.uniqueName()
      await cluster.send(numbered(topic, 10))
      const first = await GroupProbe.join(cluster, { group, topics: [topic] })
      await cluster.eventually('all records come', () => first.records.length >= 10)
      await cluster.within('commit', first.member.commit([{ topic, partition: 0, offset: 4 }]))
      await cluster.within('leave', first.leave())
      const second = await GroupProbe.join(cluster, { group, topics: [topic], start: 'latest' })
      await cluster.eventually('the rest comes', () => second.records.length >= 6)
      assert.deepEqual(texts(second.records), ['4', '5', '6', '7', '8', '9'])
      assert.deepEqual(
        second.assigned.map(({ committed, start }) => [committed, start]),
        [[4, 4]],
      )
    },
  },
  {
    title: 'a commit may move back, and counts for the next member',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const group = cluster.uniqueName()
      await cluster.send(numbered(topic, 5))
      const first = await GroupProbe.join(cluster, { group, topics: [topic] })
      await cluster.eventually('all records come', () => first.records.length >= 5)
      await cluster.within('commit', first.member.commit([{ topic, partition: 0, offset: 5 }]))
      await cluster.within('commit', first.member.commit([{ topic, partition: 0, offset: 3 }]))
      await cluster.within('leave', first.leave())
      const second = await GroupProbe.join(cluster, { group, topics: [topic] })
      await cluster.eventually('the rest comes', () => second.records.length >= 2)
      assert.deepEqual(texts(second.records), ['3', '4'])
    },
  },
  {
    title: 'the listener may choose another position than start',
    async run(cluster) {
      const topic = await cluster.topic(2)
      await cluster.send([...numbered(topic, 5, 0), ...numbered(topic, 5, 1)])
      const probe = await GroupProbe.join(cluster, {
        group: cluster.uniqueName(),
        topics: [topic],
        assigned: async (partitions) =>
          partitions
            .filter(({ partition }) => partition === 1)
            .map((one) => ({ ...one, offset: 3 })),
      })
      await cluster.eventually('seven records come', () => probe.records.length >= 7)
      assert.deepEqual(probe.textsOf(0), ['0', '1', '2', '3', '4'])
      assert.deepEqual(probe.textsOf(1), ['3', '4'])
    },
  },
  {
    title: 'nothing of a partition is delivered before assigned has resolved',
    async run(cluster) {
      const topic = await cluster.topic(1)
      await cluster.send(numbered(topic, 3))
      const gate = Promise.withResolvers<void>()
      const called = Promise.withResolvers<void>()
      const broker = await cluster.broker()
      const member = await broker.join(
        { group: cluster.uniqueName(), topics: [topic], start: 'earliest', logger: silent },
        {
          ...listener,
          async assigned() {
            called.resolve()
            await gate.promise
            return []
          },
        },
      )
      cluster.defer(() => member.leave())
      let delivered = 0
      const poll = async (): Promise<void> => {
        delivered += (await member.poll(10)).length
      }
      const first = poll()
      await cluster.within('assigned is called', called.promise)
      await cluster.send(numbered(topic, 1))
      await holds(() => assert.equal(delivered, 0))
      gate.resolve()
      await cluster.within('poll', first)
      await cluster.eventually('the records come', async () => {
        if (delivered < 4) await poll()
        return delivered === 4
      })
    },
  },
  {
    title: 'two groups get the same records',
    async run(cluster) {
      const topic = await cluster.topic(1)
      await cluster.send(numbered(topic, 5))
      const groups = [cluster.uniqueName(), cluster.uniqueName()]
      const probes = await Promise.all(
        groups.map((group) => GroupProbe.join(cluster, { group, topics: [topic], commits: true })),
      )
      await cluster.eventually('both have all', () =>
        probes.every(({ records }) => records.length >= 5),
      )
      assert.deepEqual(texts(probes[0]?.records ?? []), texts(probes[1]?.records ?? []))
    },
  },
  {
    title: 'seek goes forward and back, and nothing of before is delivered afterwards',
    async run(cluster) {
      const topic = await cluster.topic(1)
      await cluster.send(numbered(topic, 200))
      const broker = await cluster.broker()
      const subscription = {
        group: cluster.uniqueName(),
        topics: [topic],
        start: 'earliest',
        logger: silent,
      } as const
      const member = await broker.join(subscription, listener)
      cluster.defer(() => member.leave())
      const next = async (count: number): Promise<(string | null)[]> => {
        const taken = await cluster.take(member, count)
        return texts(taken)
      }
      assert.deepEqual(await next(3), ['0', '1', '2'])
      // The adapter may have fetched more by now, which must not show.
      await cluster.within('seek', member.seek([{ topic, partition: 0, offset: 150 }]))
      assert.deepEqual(await next(3), ['150', '151', '152'])
      await cluster.within('seek', member.seek([{ topic, partition: 0, offset: 10 }]))
      assert.deepEqual(await next(3), ['10', '11', '12'])
      member.pause([{ topic, partition: 0 }])
      await cluster.within('seek', member.seek([{ topic, partition: 0, offset: 197 }]))
      member.resume([{ topic, partition: 0 }])
      assert.deepEqual(await next(3), ['197', '198', '199'])
    },
  },
  {
    title: 'seek passes over partitions that are not ours',
    async run(cluster) {
      const topic = await cluster.topic(1)
      await cluster.send(numbered(topic, 2))
      const probe = await GroupProbe.join(cluster, { group: cluster.uniqueName(), topics: [topic] })
      await cluster.eventually('all records come', () => probe.records.length === 2)
      await cluster.within(
        'seek',
        probe.member.seek([{ topic: cluster.uniqueName(), partition: 9, offset: 1 }]),
      )
      probe.member.pause([{ topic, partition: 77 }])
      probe.member.resume([{ topic, partition: 77 }])
      await cluster.send(numbered(topic, 1, 0, 'more'))
      await cluster.eventually('the next record comes', () => probe.records.length === 3)
    },
  },
  {
    title:
      'a paused partition delivers nothing, others go on, and resume continues without gap or copy',
    async run(cluster) {
      const topic = await cluster.topic(2)
      await cluster.send([...numbered(topic, 3, 0), ...numbered(topic, 3, 1)])
      const probe = await GroupProbe.join(cluster, { group: cluster.uniqueName(), topics: [topic] })
      await cluster.eventually('all records come', () => probe.records.length >= 6)
      probe.member.pause([{ topic, partition: 0 }])
      await cluster.send(numbered(topic, 1, 1, 'mark'))
      // A poll that was under way when the pause came has ended once this record is here.
      await cluster.eventually('the marker comes', () => probe.textsOf(1).includes('mark0'))
      await cluster.send([...numbered(topic, 5, 0, 'paused'), ...numbered(topic, 5, 1, 'open')])
      await cluster.eventually('the open partition goes on', () => probe.textsOf(1).length >= 9)
      await holds(() => assert.deepEqual(probe.textsOf(0), ['0', '1', '2']))
      probe.member.resume([{ topic, partition: 0 }])
      await cluster.eventually('the paused records come', () => probe.textsOf(0).length >= 8)
      assert.deepEqual(probe.textsOf(0).slice(3), [
        'paused0',
        'paused1',
        'paused2',
        'paused3',
        'paused4',
      ])
      assert.deepEqual(probe.eventsOf('lost'), [])
      assert.deepEqual(probe.eventsOf('revoked'), [])
    },
  },
  {
    title: 'a group for an unknown topic is refused',
    async run(cluster) {
      const broker = await cluster.broker()
      const subscription = {
        group: cluster.uniqueName(),
        topics: [await cluster.topic(1), cluster.uniqueName()],
        start: 'earliest',
        logger: silent,
      } as const
      await assert.rejects(cluster.within('join', broker.join(subscription, listener)), {
        code: 'POLLUX_TOPIC_UNKNOWN',
      })
    },
  },
  {
    title: 'leave gives everything up by revoked, resolves a pending poll, and may be called twice',
    async run(cluster) {
      const topic = await cluster.topic(2)
      const revoked: string[] = []
      const broker = await cluster.broker()
      const member = await broker.join(
        { group: cluster.uniqueName(), topics: [topic], start: 'earliest', logger: silent },
        {
          ...listener,
          revoked: async (partitions) => void revoked.push(...partitions.map(partitionName)),
        },
      )
      await cluster.send(numbered(topic, 1))
      await cluster.eventually('a record comes', async () => (await member.poll(10)).length > 0)
      const pending = member.poll(10)
      const left = [member.leave(), member.leave()]
      assert.deepEqual(await cluster.within('poll', pending), [])
      await cluster.within('leave', Promise.all(left))
      await cluster.within('leave', member.leave())
      assert.deepEqual(revoked.toSorted(), [`${topic}/0`, `${topic}/1`])
    },
  },
  {
    title: 'a member that has left refuses poll, commit and seek',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const probe = await GroupProbe.join(cluster, { group: cluster.uniqueName(), topics: [topic] })
      await cluster.eventually('the partition is assigned', () => probe.owned.size === 1)
      await cluster.within('leave', probe.leave())
      const closed = { code: 'POLLUX_BROKER_CLOSED' }
      const position = { topic, partition: 0, offset: 0 }
      await assert.rejects(cluster.within('poll', probe.member.poll(1)), closed)
      await assert.rejects(cluster.within('commit', probe.member.commit([position])), closed)
      await assert.rejects(cluster.within('seek', probe.member.seek([position])), closed)
    },
  },
  {
    title: 'poll resolves as soon as a record is there',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const probe = await GroupProbe.join(cluster, { group: cluster.uniqueName(), topics: [topic] })
      await cluster.eventually('the partition is assigned', () => probe.owned.size === 1)
      for (let index = 0; index < 5; index += 1) {
        await cluster.send([record(topic, { text: `${index}` })])
        await cluster.eventually('the record comes', () => probe.records.length === index + 1)
      }
    },
  },
]
