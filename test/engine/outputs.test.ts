import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeOutputs } from '../../src/engine/outputs.ts'
import { Effects, Partition, Work } from '../../src/engine/partition.ts'
import { defineService, type Idempotency, type Service, text, topic } from '../../src/index.ts'
import { rawOf } from './works.ts'

const inputs = [topic('a', { key: text, value: text }), topic('b', { key: text, value: text })]
const outputs = [topic('x', { key: text, value: text }), topic('y', { key: text, value: text })]

/** Everything that an output's id may follow from. */
interface Origin {
  readonly service: 's1' | 's2'
  readonly publish: 'outbox' | 'direct'
  readonly by: 'offset' | 'event-id'
  readonly input: number
  readonly topicId: 'id1' | 'id2'
  readonly partition: number
  readonly offset: number
  readonly eventId: string | undefined
  readonly output: number
  /** How many outputs come before it. */
  readonly index: number
  readonly content: string
}

const origins: fc.Arbitrary<Origin> = fc.record({
  service: fc.constantFrom('s1' as const, 's2' as const),
  publish: fc.constantFrom('outbox' as const, 'direct' as const),
  by: fc.constantFrom('offset' as const, 'event-id' as const),
  input: fc.nat(1),
  topicId: fc.constantFrom('id1' as const, 'id2' as const),
  partition: fc.nat(1),
  offset: fc.nat(1),
  eventId: fc.constantFrom(undefined, 'e1', 'e2', 'a:x', 'x'.repeat(300)),
  output: fc.nat(1),
  index: fc.nat(1),
  content: fc.constantFrom('one', 'two'),
})

function serviceOf({ service, publish, by }: Origin): Service {
  const idempotency: Idempotency = { by }
  return defineService(service, { inputs, outputs, publish, idempotency, handle() {} })
}

function idOf(origin: Origin): string {
  const definition = inputs[origin.input]
  assert.ok(definition)
  const partition = new Partition(definition, origin.partition, 0, 0, origin.topicId)
  const headers =
    origin.eventId === undefined ? [] : [{ name: 'id', value: Buffer.from(origin.eventId) }]
  const work = new Work(
    rawOf(origin.partition, origin.offset, { topic: definition.name, headers }),
    partition,
    new Effects(0),
  )
  const message = outputs[origin.output]?.message({ key: 'k', value: origin.content })
  const other = outputs[0]?.message({ key: 'k', value: 'before' })
  const returned = [...Array.from({ length: origin.index }, () => other), message]
  const record = encodeOutputs(serviceOf(origin), work, returned)[origin.index]
  return String(record?.headers.find(({ name }) => name === 'id')?.value)
}

/** What the id has to tell apart. */
function namedBy(origin: Origin): string {
  const { service, publish, by, input, topicId, partition, offset, eventId, output, index } = origin
  const goesByEvent = eventId !== undefined && (publish === 'direct' || by === 'event-id')
  const identity = goesByEvent ? [eventId] : [topicId, partition, offset]
  const content = publish === 'direct' ? [origin.content] : []
  return JSON.stringify([service, input, identity, output, index, content])
}

test('R6: outputs have one id exactly when service, input, output topic, index and, where they are published first, content are the same', () => {
  fc.assert(
    fc.property(origins, fc.func(fc.boolean()), origins, (left, keeps, given) => {
      // Mostly the same, as random ones nearly always differ in several parts.
      const right = Object.fromEntries(
        Object.entries(left).map(([name, value]) => [
          name,
          keeps(name) ? value : given[name as keyof Origin],
        ]),
      ) as unknown as Origin
      if (left.publish !== right.publish) return
      assert.equal(idOf(left) === idOf(right), namedBy(left) === namedBy(right))
    }),
    { numRuns: 1_000 },
  )
})

test('R6: an id that the handler gives is kept', () => {
  const origin: Origin = {
    service: 's1',
    publish: 'outbox',
    by: 'offset',
    input: 0,
    topicId: 'id1',
    partition: 0,
    offset: 0,
    eventId: undefined,
    output: 0,
    index: 0,
    content: 'one',
  }
  const partition = new Partition(inputs[0] as (typeof inputs)[0], 0, 0, 0, 'id1')
  const work = new Work(rawOf(0, 0), partition, new Effects(0))
  const message = outputs[0]?.message({ key: 'k', value: 'v', headers: { id: 'own' } })
  const [record] = encodeOutputs(serviceOf(origin), work, message)
  assert.deepEqual(
    record?.headers.map(({ name, value }) => [name, String(value)]),
    [['id', 'own']],
  )
})
