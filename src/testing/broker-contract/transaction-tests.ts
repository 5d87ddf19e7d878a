import assert from 'node:assert/strict'
import { PolluxError } from '../../errors.ts'
import type {
  Broker,
  Position,
  TransactionalProducer,
  TransactionResult,
} from '../../ports/broker.ts'
import {
  beginnings,
  type ContractCluster,
  type ContractTest,
  numbered,
  record,
  texts,
} from './cluster.ts'
import { GroupProbe } from './group-probe.ts'

const committed: TransactionResult = { outcome: 'committed' }
const notAccepted: TransactionResult = { outcome: 'aborted', refusals: [] }
const closed = { code: 'POLLUX_BROKER_CLOSED' }

/** Records and positions that are written together. */
export const transactionTests: readonly ContractTest[] = [
  {
    title: 'a transaction writes its records and moves its positions',
    async run(cluster) {
      const { broker, input, output, probe, producer } = await setUp(cluster)
      for (const [round, offset] of [2, 5, 6].entries()) {
        const records = numbered(output, 2, 0, `${round}.`)
        const result = producer.transact(records, [at(input, offset)], probe.member)
        assert.deepEqual(await cluster.within('transact', result), committed)
        await movesTo(cluster, broker, input, offset)
      }
      const expected = ['0.0', '0.1', '1.0', '1.1', '2.0', '2.1']
      assert.deepEqual(texts(await cluster.read(beginnings(output), 6)), expected)
    },
  },
  {
    title: 'a transaction may have positions alone, or records alone, or nothing',
    async run(cluster) {
      const { broker, input, output, probe, producer } = await setUp(cluster)
      for (const offset of [1, 2, 3]) {
        const result = producer.transact([], [at(input, offset)], probe.member)
        assert.deepEqual(await cluster.within('transact', result), committed)
      }
      await movesTo(cluster, broker, input, 3)
      const result = producer.transact(numbered(output, 2), [], probe.member)
      assert.deepEqual(await cluster.within('transact', result), committed)
      assert.deepEqual(
        await cluster.within('transact', producer.transact([], [], probe.member)),
        committed,
      )
      assert.deepEqual(texts(await cluster.read(beginnings(output), 2)), ['0', '1'])
    },
  },
  {
    title: 'a transaction of thousands of records keeps their order in each partition',
    async run(cluster) {
      const { input, output, probe, producer } = await setUp(cluster, 2)
      const records = [...numbered(output, 2_000, 0, 'a'), ...numbered(output, 2_000, 1, 'b')]
      const result = producer.transact(records, [at(input, 1)], probe.member)
      assert.deepEqual(await cluster.within('transact', result), committed)
      const read = await cluster.read(beginnings(output, 2), records.length)
      for (const partition of [0, 1]) {
        assert.deepEqual(
          texts(read.filter((one) => one.partition === partition)),
          texts(records.filter((one) => one.partition === partition) as typeof read),
        )
      }
    },
  },
  {
    title: 'a refused record aborts its transaction, which says which and leaves nothing behind',
    async run(cluster) {
      const { broker, input, output, probe, producer } = await setUp(cluster)
      const good = record(output, { text: 'good' })
      const batch = [
        good,
        record(cluster.uniqueName(), { text: 'no such topic' }),
        good,
        record(output, { partition: 7, text: 'no such partition' }),
      ]
      const result = await cluster.within(
        'transact',
        producer.transact(batch, [at(input, 1)], probe.member),
      )
      assert.ok(result.outcome === 'aborted')
      assert.deepEqual(
        result.refusals.map(({ index, error }) => [index, PolluxError.is(error) && error.code]),
        [
          [1, 'POLLUX_TOPIC_UNKNOWN'],
          [3, 'POLLUX_OUTPUT_REFUSED'],
        ],
      )
      await hasNothing(cluster, output)
      assert.equal(await positionOf(broker, input), undefined)
      const again = producer.transact([good], [at(input, 1)], probe.member)
      assert.deepEqual(await cluster.within('transact', again), committed)
      await movesTo(cluster, broker, input, 1)
    },
  },
  {
    title: 'a transaction for a partition that went to another member is aborted',
    async run(cluster) {
      const { broker, input, output, probe, producer } = await setUp(cluster, 2)
      const other = await GroupProbe.join(cluster, { group: input, topics: [input] })
      await cluster.eventually(
        'each has one',
        () => probe.owned.size === 1 && other.owned.size === 1,
      )
      const partition = other.owned.has(`${input}/0`) ? 0 : 1
      const records = [record(output, { text: 'late' })]
      const both = [at(input, 1, 0), at(input, 1, 1)]
      for (const positions of [[at(input, 1, partition)], both]) {
        const result = producer.transact(records, positions, probe.member)
        assert.deepEqual(await cluster.within('transact', result), notAccepted)
      }
      await hasNothing(cluster, output)
      assert.deepEqual((await broker.admin.group(input)).offsets, [])
      const kept = producer.transact(records, [at(input, 1, 1 - partition)], probe.member)
      assert.deepEqual(await cluster.within('transact', kept), committed)
    },
  },
  {
    title: 'a transaction of a member that has left is aborted',
    async run(cluster) {
      const { broker, input, output, probe, producer } = await setUp(cluster)
      await cluster.within('leave', probe.leave())
      const records = [record(output, { text: 'late' })]
      const result = producer.transact(records, [at(input, 1)], probe.member)
      assert.deepEqual(await cluster.within('transact', result), notAccepted)
      await hasNothing(cluster, output)
      assert.equal(await positionOf(broker, input), undefined)
    },
  },
  {
    title:
      'a transaction made while partitions are given up counts: the next owner starts behind it',
    async run(cluster) {
      const output = await cluster.topic(1)
      const input = await cluster.topic(2)
      await cluster.send([...numbered(input, 5, 0), ...numbered(input, 5, 1)])
      const broker = await cluster.broker()
      const producer = await transactional(cluster, broker, input)
      const results: TransactionResult[] = []
      const group = { group: input, topics: [input] }
      const first = await GroupProbe.join(cluster, {
        ...group,
        broker,
        async revoked(partitions, { member }) {
          const positions = partitions.map((one) => ({ ...one, offset: 4 }))
          const records = partitions.map(() => record(output, { text: 'drained' }))
          results.push(await producer.transact(records, positions, member))
        },
      })
      await cluster.eventually('it has both', () => first.owned.size === 2)
      const second = await GroupProbe.join(cluster, group)
      await cluster.eventually('the other has one', () => second.assigned.length > 0)
      assert.deepEqual(results, [committed])
      assert.deepEqual(
        second.assigned.map(({ committed: offset, start }) => [offset, start]),
        [[4, 4]],
      )
      assert.deepEqual(texts(await cluster.read(beginnings(output), 1)), ['drained'])
    },
  },
  {
    title: 'a newer producer of the same id fences an older one',
    async run(cluster) {
      const { broker, input, output, probe, producer } = await setUp(cluster)
      const newer = await transactional(cluster, await cluster.broker(), input)
      const late = [record(output, { text: 'late' })]
      for (const positions of [[at(input, 1)], []]) {
        const result = producer.transact(late, positions, probe.member)
        await assert.rejects(cluster.within('transact', result), { code: 'POLLUX_BROKER_REFUSED' })
      }
      await hasNothing(cluster, output)
      assert.equal(await positionOf(broker, input), undefined)
      const other = await transactional(cluster, broker, cluster.uniqueName())
      for (const one of [newer, other]) {
        const result = one.transact(numbered(output, 1), [at(input, 1)], probe.member)
        assert.deepEqual(await cluster.within('transact', result), committed)
      }
    },
  },
  {
    title: 'a closed transactional producer refuses, and so does each one of a closed broker',
    async run(cluster) {
      const { broker, input, probe, producer } = await setUp(cluster)
      const other = await transactional(cluster, broker, cluster.uniqueName())
      await cluster.within('close', producer.close())
      await cluster.within('close', producer.close())
      const late = producer.transact([], [at(input, 1)], probe.member)
      await assert.rejects(cluster.within('transact', late), closed)
      const result = other.transact([], [at(input, 1)], probe.member)
      assert.deepEqual(await cluster.within('transact', result), committed)
      await cluster.within('close', broker.close())
      const later = other.transact([], [at(input, 2)], probe.member)
      await assert.rejects(cluster.within('transact', later), closed)
      await assert.rejects(transactional(cluster, broker, input), closed)
    },
  },
]

/** A member that has all partitions of a topic, a topic to write to, and a transactional producer. */
async function setUp(
  cluster: ContractCluster,
  partitions = 1,
): Promise<{
  readonly broker: Broker
  readonly input: string
  readonly output: string
  readonly probe: GroupProbe
  readonly producer: TransactionalProducer
}> {
  const input = await cluster.topic(partitions)
  const output = await cluster.topic(partitions)
  const broker = await cluster.broker()
  const probe = await GroupProbe.join(cluster, { broker, group: input, topics: [input] })
  await cluster.eventually('its partitions come', () => probe.owned.size === partitions)
  return { broker, input, output, probe, producer: await transactional(cluster, broker, input) }
}

async function transactional(
  cluster: ContractCluster,
  broker: Broker,
  id: string,
): Promise<TransactionalProducer> {
  const producer = broker.transactionalProducer?.(id)
  if (producer === undefined) throw new Error('The broker has no transactions.')
  return await cluster.within('transactionalProducer', producer)
}

function at(topic: string, offset: number, partition = 0): Position {
  return { topic, partition, offset }
}

async function positionOf(broker: Broker, topic: string): Promise<number | undefined> {
  const { offsets } = await broker.admin.group(topic)
  return offsets.find((one) => one.topic === topic && one.partition === 0)?.offset
}

/** A broker may say that a transaction is committed some moments before the position can be seen. */
async function movesTo(
  cluster: ContractCluster,
  broker: Broker,
  topic: string,
  offset: number,
): Promise<void> {
  await cluster.eventually(
    `the position is ${offset}`,
    async () => (await positionOf(broker, topic)) === offset,
  )
}

/** What is sent afterwards is the first that can be read. */
async function hasNothing(cluster: ContractCluster, topic: string): Promise<void> {
  await cluster.send([record(topic, { text: 'mark' })])
  assert.deepEqual(texts(await cluster.read(beginnings(topic), 1)), ['mark'])
}
