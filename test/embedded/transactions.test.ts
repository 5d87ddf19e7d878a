import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { endSessions } from '../../src/embedded/session-keeper.ts'
import { SqliteLog } from '../../src/embedded/sqlite-log.ts'
import type {
  Broker,
  GroupMember,
  OutgoingRecord,
  TransactionalProducer,
} from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually } from '../../src/testing/eventually.ts'

const record: OutgoingRecord = {
  topic: 't',
  partition: 0,
  key: null,
  value: Buffer.from('a'),
  headers: [],
  timestamp: undefined,
}
const one = { topic: 't', partition: 0, offset: 1 }

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-transactions-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

/** A broker with topic `t`, a member of group `g` that has it, and a transactional producer `p`. */
async function setUp(
  t: TestContext,
  broker: Broker,
): Promise<{ readonly member: GroupMember; readonly producer: TransactionalProducer }> {
  t.after(() => broker.close())
  await broker.admin.createTopics([{ name: 't', partitions: 1 }])
  let isAssigned = false
  const member = await broker.join(
    { group: 'g', topics: ['t'], start: 'earliest', logger: silent },
    {
      async assigned() {
        isAssigned = true
        return []
      },
      async revoked() {},
      lost: () => {},
    },
  )
  await eventually('the partition is assigned', () => isAssigned)
  return { member, producer: (await broker.transactionalProducer?.('p')) as TransactionalProducer }
}

async function state(broker: Broker): Promise<{ latest: number | undefined; offsets: number[] }> {
  const [range] = await broker.admin.ranges(['t'])
  const { offsets } = await broker.admin.group('g')
  return { latest: range?.latest, offsets: offsets.map(({ offset }) => offset) }
}

it('a transaction of a member whose session others have ended is aborted, and a later one counts', async (t) => {
  const folder = await temporaryFolder(t)
  const broker = embeddedBroker({ folder })
  const { member, producer } = await setUp(t, broker)
  const other = new SqliteLog(folder)
  t.after(() => other.close())
  await other.open()
  let count = 0
  const transact = async (): Promise<boolean> => {
    const { outcome } = await producer.transact([record], [{ ...one, offset: count + 1 }], member)
    if (outcome === 'committed') count += 1
    return outcome === 'committed'
  }
  // It may be back before the transaction is asked for.
  await eventually('one is aborted', async () => {
    await other.write((log) => endSessions(log, log.sessions()))
    return !(await transact())
  })
  assert.deepEqual(await state(broker), { latest: count, offsets: count === 0 ? [] : [count] })
  await eventually('it is a member again', transact)
  assert.deepEqual(await state(broker), { latest: count, offsets: [count] })
})

it('a folder of before there were transactions is taken', async (t) => {
  const folder = await temporaryFolder(t)
  const before = embeddedBroker({ folder })
  await before.connect()
  await before.close()
  const database = new DatabaseSync(join(folder, 'broker.sqlite'))
  database.exec('drop table producers')
  database.close()
  const broker = embeddedBroker({ folder })
  const { member, producer } = await setUp(t, broker)
  assert.deepEqual(await producer.transact([record], [one], member), { outcome: 'committed' })
  assert.deepEqual(await state(broker), { latest: 1, offsets: [1] })
})

it('a member of another broker is refused', async (t) => {
  const memory = sharedMemory()
  const { producer } = await setUp(t, embeddedBroker({ memory }))
  await assert.rejects(producer.transact([], [one], {} as GroupMember), {
    code: 'POLLUX_BROKER_REFUSED',
  })
  // The partition is another member's in this memory.
  const foreign = await setUp(t, embeddedBroker())
  assert.deepEqual(await producer.transact([record], [one], foreign.member), {
    outcome: 'aborted',
    refusals: [],
  })
})

it('a position that would be rounded is refused, and nothing is written', async (t) => {
  const broker = embeddedBroker()
  const { member, producer } = await setUp(t, broker)
  await assert.rejects(producer.transact([record], [{ ...one, offset: 2 ** 53 }], member), {
    code: 'POLLUX_OFFSET_UNSAFE',
  })
  assert.deepEqual(await state(broker), { latest: 0, offsets: [] })
})

it('check says of a record what a transaction would', async (t) => {
  const broker = embeddedBroker({ maxRecordBytes: 100 })
  const { member, producer } = await setUp(t, broker)
  const large = { ...record, value: Buffer.alloc(101) }
  const result = await producer.transact([record, large], [one], member)
  assert.equal(result.outcome, 'aborted')
  assert.deepEqual(result.outcome === 'aborted' && result.refusals, [
    { index: 1, error: producer.check(large) },
  ])
  assert.equal(producer.check(record), undefined)
  assert.deepEqual(await state(broker), { latest: 0, offsets: [] })
})
