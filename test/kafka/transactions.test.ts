import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { PolluxError } from '../../src/errors.ts'
import { Membership } from '../../src/kafka/membership.ts'
import type {
  Broker,
  GroupMember,
  TransactionalProducer,
  TransactionResult,
} from '../../src/ports/broker.ts'
import { eventually, holds, within } from '../../src/testing/eventually.ts'
import { connection, makeTopic, record, uniqueName } from './support.ts'
import { gate, loseAnswer, pollingMember, positionOf, readTexts } from './transaction-support.ts'

const brokers: Broker[] = []
after(() => Promise.all(brokers.map((one) => one.close())))

function connected(options: Parameters<typeof connection>[0] = {}): Broker {
  const broker = connection(options)
  brokers.push(broker)
  return broker
}

interface Setup {
  readonly broker: Broker
  readonly input: string
  readonly output: string
  readonly member: GroupMember
  readonly producer: TransactionalProducer
  readonly id: string
}

async function setUp(config?: Readonly<Record<string, string>>): Promise<Setup> {
  const broker = connected()
  const id = uniqueName('transactions')
  const input = await makeTopic(broker, `${id}-in`, 1)
  const output = await makeTopic(broker, `${id}-out`, 1, config)
  const member = await pollingMember(broker, input)
  return { broker, input, output, member, producer: await transactional(broker, id), id }
}

async function transactional(broker: Broker, id: string): Promise<TransactionalProducer> {
  return (await broker.transactionalProducer?.(id)) as TransactionalProducer
}

const committed: TransactionResult = { outcome: 'committed' }
const notAccepted: TransactionResult = { outcome: 'aborted', refusals: [] }

/** What a plain producer sends last, so that what is not before it never comes. */
async function mark(broker: Broker, topic: string): Promise<void> {
  const producer = await broker.producer()
  assert.deepEqual(await producer.send([record(topic, { text: 'mark' })]), [])
  await producer.close()
}

function at(topic: string, offset: number): { topic: string; partition: number; offset: number } {
  return { topic, partition: 0, offset }
}

describe('a transaction', () => {
  it('shows its records and moves its positions at its commit, not before', async () => {
    const { broker, input, output, member, producer } = await setUp()
    const { reached, open } = await gate('commitTransaction')
    const result = producer.transact([record(output, { text: 'a' })], [at(input, 5)], member)
    await within('the commit is asked for', reached)
    const reader = await broker.reader([at(output, 0)])
    await holds(async () => assert.deepEqual(await reader.poll(10), []), 1_000)
    assert.equal(await positionOf(broker, input), undefined)
    open()
    assert.deepEqual(await within('transact', result), committed)
    assert.deepEqual(await readTexts(broker, output, 1), ['a'])
    await movesTo(broker, input, 5)
  })

  it('takes positions alone, records alone, and nothing at all', async () => {
    const { broker, input, output, member, producer } = await setUp()
    for (const offset of [1, 2, 3])
      assert.deepEqual(await producer.transact([], [at(input, offset)], member), committed)
    await movesTo(broker, input, 3)
    assert.deepEqual(
      await producer.transact([record(output, { text: 'a' })], [], member),
      committed,
    )
    assert.deepEqual(await producer.transact([], [], member), committed)
    assert.deepEqual(await readTexts(broker, output, 1), ['a'])
  })

  it('takes thousands of records in their order, and the next may follow at once', async () => {
    const { broker, input, output, member, producer } = await setUp()
    const texts = Array.from({ length: 8_000 }, (_, index) => `${index}`)
    const results = [0, 1].map((half) =>
      producer.transact(
        texts
          .slice(half * 2_000, half === 0 ? 2_000 : undefined)
          .map((text) => record(output, { text })),
        [at(input, half + 1)],
        member,
      ),
    )
    assert.deepEqual(await within('transact', Promise.all(results)), [committed, committed])
    assert.deepEqual(await readTexts(broker, output, texts.length), texts)
    await movesTo(broker, input, 2)
  })

  it('with a record that the client finds too large is aborted, and says which', async () => {
    const { broker, input, output, member, producer } = await setUp()
    const large = record(output, { value: Buffer.alloc(1_100_000) })
    assert.ok(PolluxError.is(producer.check(large), 'POLLUX_RECORD_TOO_LARGE'))
    const small = record(output, { text: 'a' })
    const elsewhere = record(uniqueName('nowhere'), { text: 'b' })
    const result = await producer.transact([small, large, elsewhere], [at(input, 1)], member)
    assert.deepEqual(codesOf(result), [
      [1, 'POLLUX_RECORD_TOO_LARGE'],
      [2, 'POLLUX_TOPIC_UNKNOWN'],
    ])
    await mark(broker, output)
    assert.deepEqual(await readTexts(broker, output, 1), ['mark'])
    assert.equal(await positionOf(broker, input), undefined)
    assert.deepEqual(await producer.transact([small], [at(input, 1)], member), committed)
  })

  it('with records that the topic finds too large is aborted, and says which', async () => {
    const { broker, input, output, member, producer } = await setUp({
      'max.message.bytes': '2000',
    })
    const texts = Array.from({ length: 30 }, (_, index) => `${index}`.padEnd(200, '.'))
    const small = texts.map((text) => record(output, { text }))
    const large = record(output, { value: Buffer.alloc(5_000, 'x') })
    const batch = [...small.slice(0, 10), large, ...small.slice(10), large]
    const result = await producer.transact(batch, [at(input, 1)], member)
    assert.deepEqual(codesOf(result), [
      [10, 'POLLUX_RECORD_TOO_LARGE'],
      [31, 'POLLUX_RECORD_TOO_LARGE'],
    ])
    assert.deepEqual(codesOf(await producer.transact([large], [at(input, 1)], member)), [
      [0, 'POLLUX_RECORD_TOO_LARGE'],
    ])
    await mark(broker, output)
    assert.deepEqual(await readTexts(broker, output, 1), ['mark'])
    assert.equal(await positionOf(broker, input), undefined)
    // Together they are above the limit as well.
    assert.deepEqual(await producer.transact(small, [at(input, 1)], member), committed)
    assert.deepEqual(await readTexts(broker, output, 31), ['mark', ...texts])
  })

  it('is aborted when the member has not the partition', async () => {
    const { broker, input, output, member, producer } = await setUp()
    await member.leave()
    const records = [record(output, { text: 'a' })]
    assert.deepEqual(await producer.transact(records, [at(input, 1)], member), notAccepted)
    await mark(broker, output)
    assert.deepEqual(await readTexts(broker, output, 1), ['mark'])
    assert.equal(await positionOf(broker, input), undefined)
  })

  it('takes positions of a member whose partitions the broker assigns', async () => {
    const broker = connected({ protocol: 'consumer' })
    const input = await makeTopic(broker, uniqueName('transactions'), 1)
    const member = await pollingMember(broker, input)
    const producer = await transactional(broker, input)
    assert.deepEqual(await producer.transact([], [at(input, 1)], member), committed)
    await movesTo(broker, input, 1)
  })

  it('refuses a member of another broker', async () => {
    const { input, producer } = await setUp()
    await assert.rejects(producer.transact([], [at(input, 1)], {} as GroupMember), {
      code: 'POLLUX_BROKER_REFUSED',
    })
  })
})

describe('a member that was put out of its group', () => {
  it('cannot store positions in a transaction: the group refuses them, and the client knows', async (t) => {
    const slow = connected({ sessionTimeout: '6s', pollLimit: '6s' })
    const id = uniqueName('zombie')
    const input = await makeTopic(slow, `${id}-in`, 1)
    const output = await makeTopic(slow, `${id}-out`, 1)
    let isAssigned = false
    const zombie = await slow.join(
      {
        group: input,
        topics: [input],
        start: 'earliest',
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      },
      {
        async assigned() {
          isAssigned = true
          return []
        },
        async revoked() {},
        lost() {},
      },
    )
    await eventually('it has the partition', async () => (await zombie.poll(1), isAssigned))
    const producer = await transactional(slow, id)
    const next = connected()
    // Nobody polls the first any more.
    const member = await within('the other takes over', pollingMember(next, input), 60_000)
    await member.commit([at(input, 7)])
    const records = [record(output, { text: 'zombie' })]
    assert.deepEqual(await producer.transact(records, [at(input, 1)], zombie), notAccepted)
    // As if the client had not heard of it yet.
    const blind = t.mock.method(Membership.prototype, 'holds', () => true)
    t.mock.method(Membership.prototype, 'holdingsOf', () => [])
    assert.deepEqual(await producer.transact(records, [at(input, 1)], zombie), notAccepted)
    assert.ok(blind.mock.callCount() > 0)
    t.mock.restoreAll()
    await mark(next, output)
    assert.deepEqual(await readTexts(next, output, 1), ['mark'])
    await movesTo(next, input, 7)
  })
})

describe('a newer producer of the same id', () => {
  it('fences the older, which says so at its next transaction, and at all after it', async () => {
    const { broker, input, output, member, producer, id } = await setUp()
    const older = [record(output, { text: 'older' })]
    assert.deepEqual(await producer.transact(older, [at(input, 1)], member), committed)
    const newer = await transactional(broker, id)
    for (const position of [[at(input, 2)], []]) {
      await assert.rejects(
        within('transact', producer.transact(older, position, member)),
        (error: unknown) =>
          PolluxError.is(error, 'POLLUX_BROKER_REFUSED') &&
          error.message.includes(id) &&
          error.message.includes('newer producer'),
      )
    }
    const result = await newer.transact([record(output, { text: 'newer' })], [at(input, 3)], member)
    assert.deepEqual(result, committed)
    assert.deepEqual(await readTexts(broker, output, 2), ['older', 'newer'])
    await movesTo(broker, input, 3)
  })

  for (const call of ['sendOffsetsToTransaction', 'commitTransaction'] as const) {
    it(`aborts what the older has open before ${call}`, async () => {
      const { broker, input, output, member, producer, id } = await setUp()
      const { reached, open } = await gate(call)
      const result = producer.transact([record(output, { text: 'older' })], [at(input, 1)], member)
      await within(call, reached)
      const newer = await within('the newer', transactional(broker, id))
      open()
      await assert.rejects(within('transact', result), { code: 'POLLUX_BROKER_REFUSED' })
      assert.deepEqual(
        await newer.transact([record(output, { text: 'newer' })], [at(input, 2)], member),
        committed,
      )
      assert.deepEqual(await readTexts(broker, output, 1), ['newer'])
      await movesTo(broker, input, 2)
    })
  }
})

describe('a commit whose answer got lost', () => {
  it('counts, also when a newer producer has taken the id meanwhile', async () => {
    const { broker, input, output, member, producer } = await setUp()
    await loseAnswer(0)
    const records = [record(output, { text: 'a' })]
    assert.deepEqual(await producer.transact(records, [at(input, 1)], member), committed)
    await assert.rejects(producer.transact(records, [at(input, 2)], member), {
      code: 'POLLUX_BROKER_REFUSED',
    })
    await mark(broker, output)
    assert.deepEqual(await readTexts(broker, output, 2), ['a', 'mark'])
  })

  it('counts, also when it comes so late that the transaction may have been aborted', async () => {
    const { input, output, member, id } = await setUp()
    const broker = connected({ producer: { 'transaction.timeout.ms': 1_000 } })
    const producer = await transactional(broker, `${id}-short`)
    await loseAnswer(1_100)
    const [first, second] = ['a', 'b'].map((text) => [record(output, { text })])
    assert.deepEqual(await producer.transact(first ?? [], [at(input, 1)], member), committed)
    assert.deepEqual(await producer.transact(second ?? [], [at(input, 2)], member), committed)
    assert.deepEqual(await readTexts(broker, output, 2), ['a', 'b'])
  })
})

describe('closing a transactional producer', () => {
  it('aborts what is under way', async () => {
    const { broker, input, output, member, producer } = await setUp()
    const { reached, open } = await gate('sendOffsetsToTransaction')
    const refused = assert.rejects(
      producer.transact([record(output, { text: 'a' })], [at(input, 1)], member),
      { code: 'POLLUX_BROKER_CLOSED' },
    )
    await reached
    const closing = producer.close()
    open()
    await within('close', Promise.all([closing, refused]))
    await mark(broker, output)
    assert.deepEqual(await readTexts(broker, output, 1), ['mark'])
    await assert.rejects(producer.transact([], [at(input, 1)], member), {
      code: 'POLLUX_BROKER_CLOSED',
    })
    await within('close again', producer.close())
    assert.equal(await positionOf(broker, input), undefined)
  })
})

/** The broker answers a commit some milliseconds before the position can be seen. */
async function movesTo(broker: Broker, topic: string, offset: number): Promise<void> {
  await eventually(`the position is ${offset}`, async () => {
    assert.equal(await positionOf(broker, topic), offset)
    return true
  })
}

function codesOf(result: TransactionResult): unknown[] {
  assert.equal(result.outcome, 'aborted')
  const refusals = result.outcome === 'aborted' ? result.refusals : []
  return refusals.map(({ index, error }) => [index, PolluxError.is(error) && error.code])
}
