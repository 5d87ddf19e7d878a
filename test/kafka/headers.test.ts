import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { connection, makeTopic, record, uniqueName } from './support.ts'

const broker = connection()
after(() => broker.close())

it('headers come back in their order: repeated names, binary and empty values; a null value comes back empty', async () => {
  const topic = await makeTopic(broker, uniqueName('headers'), 1)
  const headers = [
    { name: 'id', value: Buffer.from('1') },
    { name: 'tag', value: Buffer.from('a') },
    { name: 'id', value: Buffer.from('2') },
    { name: 'binary', value: Buffer.from([0, 255, 128, 10]) },
    { name: 'empty', value: Buffer.alloc(0) },
    { name: '7', value: new Uint8Array([1, 2]) },
    { name: '__proto__', value: Buffer.from('x') },
    { name: 'none', value: null },
    { name: 'Größe', value: Buffer.from('日本') },
  ]
  const producer = await broker.producer()
  assert.deepEqual(
    await producer.send([record(topic, { headers }), record(topic, { text: 'without' })]),
    [],
  )
  const reader = await broker.reader([{ topic, partition: 0, offset: 0 }])
  const read = []
  while (read.length < 2) read.push(...(await reader.poll(2 - read.length)))
  assert.deepEqual(
    read[0]?.headers.map(({ name, value }) => [name, Buffer.from(value ?? 'null')]),
    headers.map(({ name, value }) => [name, Buffer.from(value ?? [])]),
  )
  assert.deepEqual(read[1]?.headers, [])
  assert.equal(read[0]?.headers, read[0]?.headers, 'converted once')
})
