import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { PolluxError } from '../../src/errors.ts'
import { connection, keepingLogger, makeTopic, record, uniqueName } from './support.ts'

const { lines, logger } = keepingLogger()
const broker = connection({ logger })
after(() => broker.close())

async function readAll(topic: string, count: number): Promise<(string | undefined)[]> {
  const reader = await broker.reader([{ topic, partition: 0, offset: 0 }])
  const read: (string | undefined)[] = []
  const deadline = Date.now() + 20_000
  while (read.length < count && Date.now() < deadline) {
    read.push(...(await reader.poll(count)).map(({ value }) => value?.toString()))
  }
  await reader.close()
  return read
}

it('a record that the topic finds too large is refused by its place, and the rest of the batch is written', async () => {
  const topic = await makeTopic(broker, uniqueName('small'), 1, { 'max.message.bytes': '2000' })
  const producer = await broker.producer()
  const large = record(topic, { value: Buffer.alloc(5_000, 'x') })
  assert.equal(producer.check(large), undefined, 'the client does not know the topic’s limit')
  const texts = Array.from({ length: 30 }, (_, index) => `${index}`.padEnd(200, '.'))
  const batch = texts.map((text) => record(topic, { text }))
  // Together the small ones are above the limit as well: the broker refuses the batch, not each of them.
  const refusals = await producer.send([...batch.slice(0, 10), large, ...batch.slice(10)])
  assert.deepEqual(
    refusals.map(({ index, error }) => [index, PolluxError.is(error) && error.code]),
    [[10, 'POLLUX_RECORD_TOO_LARGE']],
  )
  const read = await readAll(topic, 30)
  assert.deepEqual(read.toSorted(), texts.toSorted())
  assert.ok(
    lines.some((line) => line.includes('one by one')),
    'the reader of the log learns about batch.size',
  )
  await producer.close()
})

it('each call gets its own refusals, by the places in its own records', async () => {
  const topic = await makeTopic(broker, uniqueName('calls'), 1)
  const producer = await broker.producer()
  const large = record(topic, { value: Buffer.alloc(1_100_000) })
  const [first, second, third] = await Promise.all([
    producer.send([record(topic, { text: 'a' }), large]),
    producer.send([record(topic, { text: 'b' })]),
    producer.send([large, record(topic, { text: 'c' })]),
  ])
  assert.deepEqual(
    first?.map(({ index }) => index),
    [1],
  )
  assert.deepEqual(second, [])
  assert.deepEqual(
    third?.map(({ index }) => index),
    [0],
  )
  assert.deepEqual(await readAll(topic, 3), ['a', 'b', 'c'])
  await producer.close()
})

it('check counts headers and keys, and agrees with send at the limit', async () => {
  const topic = await makeTopic(broker, uniqueName('limit'), 1)
  const producer = await broker.producer()
  const headers = [{ name: 'h', value: Buffer.alloc(400_000) }]
  const fits = record(topic, { key: Buffer.alloc(99_000), value: Buffer.alloc(500_000), headers })
  const not = record(topic, { key: Buffer.alloc(101_000), value: Buffer.alloc(500_000), headers })
  assert.equal(producer.check(fits), undefined)
  assert.ok(PolluxError.is(producer.check(not), 'POLLUX_RECORD_TOO_LARGE'))
  assert.deepEqual(
    (await producer.send([fits, not])).map(({ index }) => index),
    [1],
  )
  await producer.close()
})

it('a batch of many thousand records is written in order', async () => {
  const topic = await makeTopic(broker, uniqueName('many'), 1)
  const producer = await broker.producer()
  const texts = Array.from({ length: 12_345 }, (_, index) => `${index}`)
  assert.deepEqual(await producer.send(texts.map((text) => record(topic, { text }))), [])
  assert.deepEqual(await readAll(topic, texts.length), texts)
  await producer.close()
})

it('a batch larger than the client’s queue waits for room', async () => {
  const own = connection({ producer: { 'queue.buffering.max.messages': 100 } })
  const topic = await makeTopic(own, uniqueName('queue'), 1)
  const producer = await own.producer()
  const texts = Array.from({ length: 1_000 }, (_, index) => `${index}`)
  assert.deepEqual(await producer.send(texts.map((text) => record(topic, { text }))), [])
  assert.deepEqual(await readAll(topic, 1_000), texts)
  await own.close()
})

it('a topic that was made after its first refusal is written to', async () => {
  const topic = uniqueName('late')
  const producer = await broker.producer()
  const [refusal] = await producer.send([record(topic, { text: 'early' })])
  assert.ok(PolluxError.is(refusal?.error, 'POLLUX_TOPIC_UNKNOWN'))
  await makeTopic(broker, topic, 1)
  assert.deepEqual(await producer.send([record(topic, { text: 'late' })]), [])
  assert.deepEqual(await readAll(topic, 1), ['late'])
  await producer.close()
})
