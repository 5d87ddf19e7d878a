import assert from 'node:assert/strict'
import { PolluxError } from '../../errors.ts'
import type { Header } from '../../message.ts'
import { beginnings, type ContractTest, numbered, record, texts } from './cluster.ts'
import { keyPartitions } from './key-partitions.ts'

/** Producing, and reading without a group. */
export const logTests: readonly ContractTest[] = [
  {
    title: 'a partition delivers its records in the order sent, with consecutive offsets',
    async run(cluster) {
      const topic = await cluster.topic(2)
      await cluster.send([...numbered(topic, 50, 0, 'a'), ...numbered(topic, 50, 1, 'b')])
      const records = await cluster.read(beginnings(topic, 2), 100)
      for (const [partition, prefix] of [
        [0, 'a'],
        [1, 'b'],
      ] as const) {
        const own = records.filter((one) => one.partition === partition)
        assert.deepEqual(
          own.map(({ offset }) => offset),
          Array.from({ length: 50 }, (_, index) => index),
        )
        assert.deepEqual(
          texts(own),
          Array.from({ length: 50 }, (_, index) => `${prefix}${index}`),
        )
      }
    },
  },
  {
    title: 'calls to send that are not awaited keep their order',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const producer = await (await cluster.broker()).producer()
      const sent = Array.from({ length: 100 }, (_, index) =>
        producer.send([record(topic, { text: `${index}` }), record(topic, { text: `${index}+` })]),
      )
      const refusals = await cluster.within('send', Promise.all(sent))
      assert.deepEqual(refusals.flat(), [])
      const expected = sent.flatMap((_, index) => [`${index}`, `${index}+`])
      assert.deepEqual(texts(await cluster.read(beginnings(topic), 200)), expected)
    },
  },
  {
    title: 'null and empty keys and values are told apart, and bytes come back as they were',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const binary = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
      const empty = Buffer.alloc(0)
      const pairs = [
        [null, null],
        [null, empty],
        [empty, null],
        [empty, empty],
        [binary, binary],
        [Buffer.from('null'), Buffer.from('null')],
      ] as const
      await cluster.send(pairs.map(([key, value]) => record(topic, { key, value })))
      const records = await cluster.read(beginnings(topic), pairs.length)
      assert.deepEqual(
        records.map(({ key, value }) => [key, value]),
        pairs,
      )
    },
  },
  {
    title: 'headers come back in their order: repeated names, binary, empty and null values',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const headers: Header[] = [
        { name: 'id', value: Buffer.from('1') },
        { name: 'tag', value: Buffer.from('a') },
        { name: 'id', value: Buffer.from('2') },
        { name: 'binary', value: Buffer.from([0, 255, 128, 10]) },
        { name: 'empty', value: Buffer.alloc(0) },
        { name: 'none', value: null },
        { name: 'Größe', value: Buffer.from('日本') },
        { name: 'tag', value: Buffer.from('a') },
      ]
      await cluster.send([record(topic, { headers }), record(topic, { text: 'without' })])
      const [first, second] = await cluster.read(beginnings(topic), 2)
      assert.deepEqual(
        first?.headers.map(({ name, value }) => [name, value === null ? null : Buffer.from(value)]),
        headers.map(({ name, value }) => [name, value]),
      )
      assert.deepEqual([...(second?.headers ?? [])], [])
    },
  },
  {
    title: 'a timestamp comes back as given, and is the time of sending when not given',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const given = Date.now() - 3_600_000
      const before = Date.now()
      await cluster.send([record(topic, { timestamp: given }), record(topic, {})])
      const [first, second] = await cluster.read(beginnings(topic), 2)
      assert.equal(first?.timestamp, given)
      const sent = second?.timestamp ?? 0
      assert.ok(sent >= before - 1 && sent <= Date.now() + 1, `timestamp ${sent}`)
    },
  },
  {
    title: 'case 49: a key goes to the partition that Java’s default partitioner chooses',
    async run(cluster) {
      for (const partitions of [4, 12, 15]) {
        const topic = await cluster.topic(partitions)
        await cluster.send(
          keyPartitions.map(({ key }) => record(topic, { key, partition: undefined })),
        )
        const records = await cluster.read(beginnings(topic, partitions), keyPartitions.length)
        const found = Object.fromEntries(
          records.map((one) => [one.key?.toString('hex'), one.partition]),
        )
        const expected = Object.fromEntries(
          keyPartitions.map((one) => [one.key.toString('hex'), one.partitions[partitions]]),
        )
        assert.deepEqual(found, expected)
      }
    },
  },
  {
    title: 'records without key and partition reach more than one partition in the long run',
    async run(cluster) {
      const topic = await cluster.topic(3)
      const broker = await cluster.broker()
      const producer = await broker.producer()
      await cluster.eventually('two partitions have records', async () => {
        await producer.send([record(topic, { partition: undefined, text: 'x' })])
        const ranges = await broker.admin.ranges([topic])
        return ranges.filter(({ latest }) => latest > 0).length > 1
      })
    },
  },
  {
    title: 'what send has resolved is there for another connection at once',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const [one, other] = [await cluster.broker(), await cluster.broker()]
      const producer = await one.producer()
      for (let count = 1; count <= 20; count += 1) {
        await cluster.within('send', producer.send([record(topic, { text: `${count}` })]))
        const [range] = await other.admin.ranges([topic])
        assert.equal(range?.latest, count)
      }
    },
  },
  {
    title: 'an empty batch resolves without a refusal',
    async run(cluster) {
      const producer = await (await cluster.broker()).producer()
      assert.deepEqual(await cluster.within('send', producer.send([])), [])
    },
  },
  {
    title: 'a record for an unknown topic is refused by its place, and the rest is written',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const producer = await (await cluster.broker()).producer()
      const batch = [
        record(topic, { text: 'a' }),
        record(cluster.uniqueName(), {}),
        record(topic, { text: 'b' }),
      ]
      const refusals = await cluster.within('send', producer.send(batch))
      assert.deepEqual(
        refusals.map(({ index, error }) => [index, PolluxError.is(error) && error.code]),
        [[1, 'POLLUX_TOPIC_UNKNOWN']],
      )
      assert.deepEqual(texts(await cluster.read(beginnings(topic), 2)), ['a', 'b'])
    },
  },
  {
    title: 'a record for a partition that does not exist is refused, and the rest is written',
    async run(cluster) {
      const topic = await cluster.topic(2)
      const producer = await (await cluster.broker()).producer()
      const batch = [
        record(topic, { partition: 2, text: 'a' }),
        record(topic, { partition: 1, text: 'b' }),
      ]
      const refusals = await cluster.within('send', producer.send(batch))
      assert.deepEqual(
        refusals.map(({ index, error }) => [index, PolluxError.is(error) && error.code]),
        [[0, 'POLLUX_OUTPUT_REFUSED']],
      )
      assert.deepEqual(texts(await cluster.read(beginnings(topic, 2), 1)), ['b'])
    },
  },
  {
    title:
      'case 17: a record above the limit is refused by check and by send, and the rest is written',
    async run(cluster) {
      if (cluster.maxRecordBytes === undefined) return
      const topic = await cluster.topic(1)
      const producer = await (await cluster.broker()).producer()
      const large = record(topic, { value: Buffer.alloc(cluster.maxRecordBytes + 1) })
      const small = record(topic, { text: 'small' })
      assert.equal(producer.check(small), undefined)
      const checked = producer.check(large)
      assert.ok(PolluxError.is(checked, 'POLLUX_RECORD_TOO_LARGE'), String(checked))
      const refusals = await cluster.within('send', producer.send([large, small]))
      assert.deepEqual(
        refusals.map(({ index, error }) => [index, PolluxError.is(error) && error.code]),
        [[0, 'POLLUX_RECORD_TOO_LARGE']],
      )
      assert.deepEqual(texts(await cluster.read(beginnings(topic), 1)), ['small'])
    },
  },
  {
    title: 'a reader starts at its positions and returns at most max records a poll',
    async run(cluster) {
      const topic = await cluster.topic(2)
      await cluster.send([...numbered(topic, 10, 0, 'a'), ...numbered(topic, 10, 1, 'b')])
      const reader = await (await cluster.broker()).reader([
        { topic, partition: 0, offset: 7 },
        { topic, partition: 1, offset: 9 },
      ])
      const seen: string[] = []
      await cluster.eventually('four records are read', async () => {
        const batch = await cluster.within('poll', reader.poll(2))
        assert.ok(batch.length <= 2, `${batch.length} records`)
        seen.push(...batch.map(({ value }) => String(value)))
        return seen.length >= 4
      })
      assert.deepEqual(seen.toSorted(), ['a7', 'a8', 'a9', 'b9'])
      await reader.close()
    },
  },
  {
    title: 'a reader waits for records to come, and leaves no trace in the groups',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const broker = await cluster.broker()
      const before = await broker.admin.groups()
      const reader = await broker.reader(beginnings(topic))
      const taken = cluster.take(reader, 1)
      await cluster.send([record(topic, { text: 'late' })])
      assert.deepEqual(texts(await taken), ['late'])
      const after = await broker.admin.groups()
      assert.deepEqual(
        after.filter((group) => !before.includes(group)),
        [],
      )
      await reader.close()
    },
  },
  {
    title: 'a reader of an unknown topic is refused',
    async run(cluster) {
      const broker = await cluster.broker()
      await assert.rejects(
        cluster.within('reader', broker.reader(beginnings(cluster.uniqueName()))),
        {
          code: 'POLLUX_TOPIC_UNKNOWN',
        },
      )
    },
  },
]
