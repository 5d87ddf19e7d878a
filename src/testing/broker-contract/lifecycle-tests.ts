import assert from 'node:assert/strict'
import { silent } from '../../ports/logger.ts'
import { beginnings, type ContractTest, record } from './cluster.ts'
import { GroupProbe, Ownership } from './group-probe.ts'

const closed = { code: 'POLLUX_BROKER_CLOSED' }
const listener = { assigned: async () => [], revoked: async () => {}, lost: () => {} }

/** Closing, and use afterwards. */
export const lifecycleTests: readonly ContractTest[] = [
  {
    title: 'a closed broker refuses everything, and may be closed again',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const broker = await cluster.broker()
      await cluster.within('close', Promise.all([broker.close(), broker.close()]))
      await cluster.within('close', broker.close())
      const subscription = {
        group: cluster.uniqueName(),
        topics: [topic],
        start: 'earliest',
        logger: silent,
      } as const
      await assert.rejects(cluster.within('connect', broker.connect()), closed)
      await assert.rejects(cluster.within('join', broker.join(subscription, listener)), closed)
      await assert.rejects(cluster.within('producer', broker.producer()), closed)
      await assert.rejects(cluster.within('reader', broker.reader(beginnings(topic))), closed)
      await assert.rejects(cluster.within('topics', broker.admin.topics()), closed)
      await assert.rejects(cluster.within('createTopics', broker.admin.createTopics([])), closed)
      await assert.rejects(cluster.within('ranges', broker.admin.ranges([topic])), closed)
      await assert.rejects(cluster.within('offsetsAt', broker.admin.offsetsAt(topic, 0)), closed)
      await assert.rejects(cluster.within('groups', broker.admin.groups()), closed)
      await assert.rejects(cluster.within('group', broker.admin.group('some')), closed)
    },
  },
  {
    title: 'closing a broker closes its producers, readers and members',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const broker = await cluster.broker()
      const producer = await broker.producer()
      const reader = await broker.reader(beginnings(topic))
      const reading = reader.poll(1)
      const probe = await GroupProbe.join(cluster, {
        broker,
        group: cluster.uniqueName(),
        topics: [topic],
      })
      await cluster.eventually('the partition is assigned', () => probe.owned.size === 1)
      await cluster.within('close', broker.close())
      assert.deepEqual(await cluster.within('poll', reading), [])
      assert.deepEqual(probe.eventsOf('revoked'), [`${topic}/0`])
      await assert.rejects(cluster.within('poll', reader.poll(1)), closed)
      await assert.rejects(cluster.within('poll', probe.member.poll(1)), closed)
      await assert.rejects(cluster.within('send', producer.send([record(topic, {})])), closed)
      await cluster.within('close', Promise.all([producer.close(), reader.close(), probe.leave()]))
    },
  },
  {
    title: 'closing a broker hands its partitions over at once',
    async run(cluster) {
      const topic = await cluster.topic(2)
      const broker = await cluster.broker()
      const options = { group: cluster.uniqueName(), topics: [topic], ownership: new Ownership() }
      const first = await GroupProbe.join(cluster, { ...options, broker })
      const second = await GroupProbe.join(cluster, options)
      await cluster.eventually(
        'both have one',
        () => first.owned.size === 1 && second.owned.size === 1,
      )
      await cluster.within('close', broker.close())
      await cluster.eventually('the other takes over', () => second.owned.size === 2)
      assert.deepEqual(options.ownership.violations, [])
    },
  },
  {
    title: 'a closed producer refuses to send, and may be closed again',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const broker = await cluster.broker()
      const [producer, other] = [await broker.producer(), await broker.producer()]
      await cluster.within('close', producer.close())
      await cluster.within('close', producer.close())
      await assert.rejects(cluster.within('send', producer.send([record(topic, {})])), closed)
      assert.deepEqual(await cluster.within('send', other.send([record(topic, {})])), [])
    },
  },
  {
    title: 'a closed reader refuses to poll, a pending poll resolves, and it may be closed again',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const reader = await (await cluster.broker()).reader(beginnings(topic))
      const pending = reader.poll(1)
      await cluster.within('close', reader.close())
      assert.deepEqual(await cluster.within('poll', pending), [])
      await cluster.within('close', reader.close())
      await assert.rejects(cluster.within('poll', reader.poll(1)), closed)
    },
  },
  {
    title: 'a connection has a name without line breaks for messages',
    async run(cluster) {
      const { name } = await cluster.broker()
      assert.match(name, /^\S.*\S$/)
    },
  },
]
