import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fact, gate, type Runtime, run, type Service, text, topic } from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { postgres, postgresTransaction } from '../../src/postgres/index.ts'
import { eventually, messagesOf, sendTo } from '../../src/testing/index.ts'
import { connection, makeTopic, uniqueName } from '../kafka/support.ts'
import { address, ask, freshName } from '../postgres/server.ts'

const schema = freshName()
before(() => ask(`create schema ${schema}`))
after(() => ask(`drop schema if exists ${schema} cascade`))

test('case 46: on Kafka, two facts of a key that two instances are given at the same time open its gate once', async () => {
  const keys = Array.from({ length: 400 }, (_, index) => `book-${index}`)
  const broker = connection()
  await broker.connect()
  const [left, right, opened] = await Promise.all(
    ['left', 'right', 'opened'].map(async (name) =>
      topic(await makeTopic(broker, uniqueName(name), 1), { key: text, value: text }),
    ),
  )
  assert.ok(left && right && opened)
  const group = uniqueName('pairs')
  /** By instance: the topics whose facts it was given. */
  const given = [new Set<string>(), new Set<string>()] as const
  const gateOf = (seen: Set<string>): Service => {
    const when = (message: { readonly topic: string }): boolean => seen.add(message.topic).size > 0
    return gate(group, {
      facts: { left: fact(left, { when }), right: fact(right, { when }) },
      outputs: [opened],
      table: `${schema}.pairs`,
      db: postgresTransaction,
      batch: 40,
      open: (key) => opened.message({ key, value: 'opened' }),
    })
  }
  const start = (seen: Set<string>): Promise<Runtime> =>
    run(gateOf(seen), {
      broker: connection(),
      store: postgres({ connectionString: address(), schema }),
      logger: silent,
      signals: false,
    })
  const [one, other] = [await start(given[0]), await start(given[1])]
  await eventually('each instance has a partition', async () => {
    const { members } = await broker.admin.group(group)
    return members.length === 2 && members.every(({ partitions }) => partitions.length === 1)
  })
  await Promise.all([
    sendTo(broker, ...keys.map((key) => left.message({ key, value: '' }))),
    // Backwards, so that locks taken in the order of arrival would meet.
    sendTo(broker, ...keys.toReversed().map((key) => right.message({ key, value: '' }))),
  ])
  const count = (name: string): number =>
    [one, other].reduce((sum, { counts }) => sum + (counts[0]?.own[name] ?? 0), 0)
  await eventually('all gates are open', () => count('opened') >= keys.length)
  await Promise.all([one.stop(), other.stop()])
  assert.deepEqual(
    given.map((topics) => [...topics]).toSorted(),
    [[left.name], [right.name]].toSorted(),
    'each instance had the facts of one topic',
  )
  const told = await messagesOf(broker, opened)
  assert.deepEqual(told.map(({ key }) => key).toSorted(), keys.toSorted())
  assert.equal(new Set(told.map(({ id }) => id)).size, keys.length)
  const rows = await ask(
    `select count(*)::int as n from ${schema}.pairs where "left" is not null and "right" is not null and opened_at is not null`,
  )
  assert.deepEqual(rows, [{ n: keys.length }])
  await broker.close()
})
