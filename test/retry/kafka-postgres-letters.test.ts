import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { letterHeaders } from '../../src/dead-letter/headers.ts'
import { bytes, defineService, NonRetryableError, nullable, run, topic } from '../../src/index.ts'
import type { RawMessage } from '../../src/message.ts'
import type { Broker } from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import { postgres } from '../../src/postgres/index.ts'
import { areSettled, eventually } from '../../src/testing/index.ts'
import { LogReader } from '../guarantees/log-reader.ts'
import { connection, makeTopic, uniqueName } from '../kafka/support.ts'
import { write } from '../patterns/records.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { deadLettersOf } from './dead-letters.ts'

const schema = freshName()
before(() => ask(`create schema ${schema}`))
after(() => ask(`drop schema ${schema} cascade`))

const variants = [
  { title: 'without a store', options: {} },
  { title: 'in Kafka’s transaction', options: { publish: 'transaction' } },
  { title: 'by the outbox', options: { idempotency: { by: 'event-id' } } },
  { title: 'before the store', options: { idempotency: { by: 'event-id' }, publish: 'direct' } },
] as const

/** Where there are transactions, nobody can tell where the records end: what is there, once it is so many. */
async function readAll(broker: Broker, name: string, count: number): Promise<RawMessage[]> {
  const records: RawMessage[] = []
  const log = await LogReader.open(broker, name, (record) => void records.push(record))
  await eventually(`${name} has ${count} records`, async () => {
    await log.readSome()
    return records.length >= count
  })
  await log.close()
  return records
}

describe('dead letters on Kafka', { concurrency: 1 }, () => {
  for (const { title, options } of variants) {
    test(`cases 17, 19, 53: written ${title}, to a topic with fewer partitions; one that is too large is reduced, null stays null`, async () => {
      const broker = connection()
      await broker.connect()
      const value = nullable(bytes)
      const input = topic(await makeTopic(broker, uniqueName('letters-in'), 5), { value })
      const output = topic(await makeTopic(broker, uniqueName('letters-out'), 1), { value })
      const name = uniqueName('letters')
      await broker.admin.createTopics([
        { name: `${name}.dlq`, partitions: 1, config: { 'max.message.bytes': '20000' } },
      ])
      const service = defineService(name, {
        ...options,
        inputs: [input],
        outputs: [output],
        handle({ key }) {
          if (String(key) === 'good')
            return output.message({ key: null, value: Buffer.from('out') })
          throw new NonRetryableError('never')
        },
      })
      const headers = [{ name: 'tag', value: Buffer.from([0, 255]) }]
      await write(
        broker,
        input.name,
        { key: Buffer.from('bad'), value: Buffer.from([0, 1, 255]), headers, partition: 4 },
        { key: Buffer.from('null'), value: null, partition: 3 },
        { key: Buffer.from('large'), value: Buffer.alloc(100_000, 7), partition: 2 },
        { key: Buffer.from('good'), value: Buffer.from('x'), partition: 2 },
      )
      const runtime = await run(service, {
        broker: connection(),
        store: postgres({ connectionString: address(), schema }),
        logger: silent,
        signals: false,
      })
      await eventually('all are settled', () => areSettled(broker, [service]))
      await runtime.stop()
      const letters = new Map(
        (await readAll(broker, `${name}.dlq`, 3)).map((letter) => [String(letter.key), letter]),
      )
      assert.deepEqual([...letters.keys()].toSorted(), ['bad', 'large', 'null'])
      const [bad, large, empty] = ['bad', 'large', 'null'].map((key) => letters.get(key))
      assert.ok(bad && large && empty)
      const header = (letter: RawMessage, of: string): string =>
        String(letter.headers.find((one) => one.name === of)?.value)
      assert.deepEqual(bad.value, Buffer.from([0, 1, 255]))
      assert.deepEqual(bad.headers.find((one) => one.name === 'tag')?.value, headers[0]?.value)
      assert.equal(header(bad, letterHeaders.partition), '4')
      assert.equal(empty.value, null)
      assert.equal(large.value, null)
      assert.equal(header(large, letterHeaders.reduced), 'value headers')
      assert.equal((await readAll(broker, output.name, 1)).length, 1)
      await broker.close()
    })
  }
})

test('a message whose key the database cannot index is a dead letter, and the others of its unit are stored', async () => {
  const broker = connection()
  await broker.connect()
  const input = topic(await makeTopic(broker, uniqueName('keys-in'), 1), { value: bytes })
  const name = uniqueName('keys')
  const service = defineService(name, {
    inputs: [input],
    state: bytes,
    async handle({ value }, { state }) {
      await state.put(value)
    },
  })
  // What cannot be compressed to the 2704 bytes that an index takes.
  const long = Buffer.concat(
    Array.from({ length: 300 }, (_, n) => hash('sha512', `${n}`, 'buffer')),
  )
  const keys = [...Array.from({ length: 30 }, (_, n) => Buffer.from(`k${n}`)), long]
  await write(broker, input.name, ...keys.map((key) => ({ key, value: Buffer.from('x') })))
  const store = postgres({ connectionString: address(), schema })
  const runtime = await run(service, {
    broker: connection(),
    store,
    logger: silent,
    signals: false,
  })
  await eventually('all are settled', () => areSettled(broker, [service]))
  await runtime.stop()
  const letters = await deadLettersOf(broker, name)
  assert.deepEqual(
    letters.map(({ raw }) => raw.key),
    [long],
  )
  const [row] = await ask(
    `select count(*)::int as count from ${schema}.pollux_state where service = '${name}'`,
  )
  assert.equal(row?.['count'], 30)
  await broker.close()
})
