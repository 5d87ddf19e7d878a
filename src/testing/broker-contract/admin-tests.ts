import assert from 'node:assert/strict'
import { PolluxError } from '../../errors.ts'
import { type ContractTest, numbered, record } from './cluster.ts'
import { GroupProbe } from './group-probe.ts'

/** What the admin tells. */
export const adminTests: readonly ContractTest[] = [
  {
    title: 'topics are listed by name with their partitions',
    async run(cluster) {
      const [one, other] = [await cluster.topic(3), await cluster.topic(1)]
      const topics = await (await cluster.broker()).admin.topics()
      const names = topics.map(({ name }) => name)
      assert.deepEqual(
        topics.filter(({ name }) => name === one || name === other),
        [
          { name: one, partitions: 3 },
          { name: other, partitions: 1 },
        ].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      )
      assert.deepEqual(names, names.toSorted())
      assert.ok(!names.some((name) => name.startsWith('__')), 'internal topics are not shown')
    },
  },
  {
    title: 'each topic has an id of its own, the same for everybody',
    async run(cluster) {
      const [one, other] = [await cluster.topic(1), await cluster.topic(1)]
      const ids = await (await cluster.broker()).admin.topicIds([one, other, one])
      assert.deepEqual([...ids.keys()].toSorted(), [one, other].toSorted())
      assert.notEqual(ids.get(one), ids.get(other))
      assert.deepEqual(await (await cluster.broker()).admin.topicIds([one, other]), ids)
      const missing = (await cluster.broker()).admin.topicIds([one, cluster.uniqueName()])
      await assert.rejects(missing, (error) => PolluxError.is(error, 'POLLUX_TOPIC_UNKNOWN'))
    },
  },
  {
    title: 'createTopics leaves alone what exists',
    async run(cluster) {
      const topic = await cluster.topic(2)
      await cluster.send(numbered(topic, 3))
      const { admin } = await cluster.broker()
      const fresh = cluster.uniqueName()
      await cluster.within(
        'createTopics',
        admin.createTopics([
          { name: topic, partitions: 5 },
          { name: fresh, partitions: 1 },
        ]),
      )
      await cluster.eventually('the new topic is known', async () => {
        const topics = await admin.topics()
        return topics.some(({ name }) => name === fresh)
      })
      const ranges = await admin.ranges([topic])
      assert.deepEqual(
        ranges.map(({ partition, latest }) => [partition, latest]),
        [
          [0, 3],
          [1, 0],
        ],
      )
    },
  },
  {
    title: 'createTopics refuses what is not a topic name, and a topic without partitions',
    async run(cluster) {
      const { admin } = await cluster.broker()
      await assert.rejects(
        cluster.within('createTopics', admin.createTopics([{ name: 'a b', partitions: 1 }])),
      )
      const name = cluster.uniqueName()
      await assert.rejects(
        cluster.within('createTopics', admin.createTopics([{ name, partitions: 0 }])),
      )
    },
  },
  {
    title: 'ranges give the ends of each partition, ordered by topic and partition',
    async run(cluster) {
      const [one, other] = [await cluster.topic(2), await cluster.topic(1)].toSorted() as [
        string,
        string,
      ]
      const { admin } = await cluster.broker()
      const counts = (await admin.ranges([one])).length
      await cluster.send([...numbered(one, 4, counts - 1), ...numbered(other, 2, 0)])
      const ranges = await admin.ranges([other, one])
      const sorted = ranges.toSorted((a, b) =>
        a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition,
      )
      assert.deepEqual(ranges, sorted)
      const latest = Object.fromEntries(
        ranges.map((it) => [`${it.topic}/${it.partition}`, it.latest]),
      )
      assert.equal(latest[`${one}/${counts - 1}`], 4)
      assert.equal(latest[`${other}/0`], 2)
      assert.ok(ranges.every(({ earliest }) => earliest === 0))
    },
  },
  {
    title: 'ranges and offsetsAt of an unknown topic are refused',
    async run(cluster) {
      const { admin } = await cluster.broker()
      const unknown = { code: 'POLLUX_TOPIC_UNKNOWN' }
      await assert.rejects(cluster.within('ranges', admin.ranges([cluster.uniqueName()])), unknown)
      await assert.rejects(
        cluster.within('offsetsAt', admin.offsetsAt(cluster.uniqueName(), 0)),
        unknown,
      )
    },
  },
  {
    title: 'offsetsAt gives the first record at or after a time, and the end when there is none',
    async run(cluster) {
      const topic = await cluster.topic(2)
      const base = Date.now() - 60_000
      await cluster.send(
        [0, 100, 200].map((more) => record(topic, { timestamp: base + more, text: `${more}` })),
      )
      const { admin } = await cluster.broker()
      const at = async (time: number): Promise<(readonly [number, number])[]> =>
        (await admin.offsetsAt(topic, time)).map(
          ({ partition, offset }) => [partition, offset] as const,
        )
      assert.deepEqual(await at(base - 1), [
        [0, 0],
        [1, 0],
      ])
      assert.deepEqual(await at(base + 100), [
        [0, 1],
        [1, 0],
      ])
      assert.deepEqual(await at(base + 101), [
        [0, 2],
        [1, 0],
      ])
      assert.deepEqual(await at(base + 201), [
        [0, 3],
        [1, 0],
      ])
    },
  },
  {
    title: 'a group shows its state, members, their partitions and its committed positions',
    async run(cluster) {
      const topic = await cluster.topic(2)
      const group = cluster.uniqueName()
      await cluster.send([...numbered(topic, 3, 0), ...numbered(topic, 3, 1)])
      const probe = await GroupProbe.join(cluster, { group, topics: [topic] })
      await cluster.eventually('all records come', () => probe.records.length === 6)
      await cluster.within('commit', probe.member.commit([{ topic, partition: 1, offset: 2 }]))
      const { admin } = await cluster.broker()
      const stable = await cluster.eventually('the group is stable', async () => {
        const found = await admin.group(group)
        return found.state === 'Stable' && found
      })
      assert.equal(stable.group, group)
      assert.equal(stable.members.length, 1)
      assert.deepEqual(
        stable.members[0]?.partitions.map(({ partition }) => partition).toSorted(),
        [0, 1],
      )
      assert.deepEqual(stable.offsets, [{ topic, partition: 1, offset: 2 }])
      assert.ok((await admin.groups()).includes(group))
      await cluster.within('leave', probe.leave())
      const empty = await cluster.eventually('the group is empty', async () => {
        const found = await admin.group(group)
        return found.state === 'Empty' && found
      })
      assert.deepEqual(empty.members, [])
      assert.deepEqual(empty.offsets, [{ topic, partition: 1, offset: 2 }])
    },
  },
  {
    title: 'a group that does not exist is Dead',
    async run(cluster) {
      const group = cluster.uniqueName()
      const { admin } = await cluster.broker()
      assert.deepEqual(await admin.group(group), { group, state: 'Dead', members: [], offsets: [] })
    },
  },
]
