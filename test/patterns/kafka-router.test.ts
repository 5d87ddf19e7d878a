import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, nullable, router, run, topic } from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { keyPartitions } from '../../src/testing/broker-contract/key-partitions.ts'
import { areSettled, eventually } from '../../src/testing/index.ts'
import { connection, makeTopic, uniqueName } from '../kafka/support.ts'
import { read, write } from './records.ts'

test('cases 49, 53: on Kafka, records pass as they are, to the partition that Java’s default partitioner chooses', async () => {
  const broker = connection()
  await broker.connect()
  const value = nullable(bytes)
  const input = topic(await makeTopic(broker, uniqueName('route-from'), 1), { value })
  const output = topic(await makeTopic(broker, uniqueName('route-to'), 12), { value })
  const dropped = Buffer.from('dropped')
  const service = router(uniqueName('router'), {
    input,
    routes: [{ when: { key: (key) => key?.equals(dropped) !== true }, to: output }],
    otherwise: 'drop',
  })
  const table = keyPartitions.filter(({ partitions }) => '12' in partitions)
  const headers = [
    { name: 'tag', value: Buffer.from([0, 255]) },
    { name: 'id', value: Buffer.from('kept') },
    { name: 'tag', value: Buffer.alloc(0) },
  ]
  const records = table.map(({ key }, index) => ({
    key,
    value: [null, Buffer.alloc(0), Buffer.from([0, 1, 255])][index % 3] ?? null,
    headers,
    timestamp: 1_700_000_000_000 + index,
  }))
  await write(broker, input.name, ...records, { key: dropped })
  const runtime = await run(service, { broker: connection(), logger: silent, signals: false })
  await eventually('all is routed', () => areSettled(broker, [service]))
  const found = await read(broker, output.name)
  for (const [index, { key, partitions }] of table.entries()) {
    const record = found.find((one) => one.key?.equals(key))
    assert.ok(record, key.toString('hex'))
    assert.equal(record.partition, (partitions as Record<string, number>)['12'])
    assert.deepEqual(record.value, records[index]?.value)
    assert.equal(record.timestamp, records[index]?.timestamp)
    assert.deepEqual(
      record.headers.map((one) => [one.name, Buffer.from(one.value ?? 'null')]),
      headers.map((one) => [one.name, one.value]),
    )
  }
  assert.equal(found.length, table.length)
  assert.deepEqual(runtime.counts[0]?.own, { dropped: 1 })
  await runtime.stop()
  await broker.close()
})
