import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type { Broker, GroupListener, GroupMember } from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually } from '../../src/testing/eventually.ts'
import { connection, idle, makeTopic, uniqueName } from './support.ts'

/** Joins the group that is named like the topic, and polls until it has left. */
async function join(
  context: TestContext,
  broker: Broker,
  topic: string,
  listener: Partial<GroupListener> = {},
  group = topic,
): Promise<GroupMember> {
  const member = await broker.join(
    { group, topics: [topic], start: 'earliest', logger: silent },
    { ...idle, ...listener },
  )
  const polling = (async () => {
    for (;;) await member.poll(100)
  })().catch(() => undefined)
  context.after(async () => {
    await member.leave()
    await polling
  })
  return member
}

/** How many members the group has. */
async function size(broker: Broker, group: string): Promise<number> {
  return (await broker.admin.group(group)).members.length
}

it('a member with many partitions is out of its group when it has left, each time', async (context) => {
  const broker = connection()
  context.after(() => broker.close())
  const topic = await makeTopic(broker, uniqueName('leaving'), 200)
  for (let round = 1; round <= 10; round += 1) {
    const group = `${topic}-${round}`
    let owned = 0
    const listener: Partial<GroupListener> = {
      async assigned(partitions) {
        owned += partitions.length
        return []
      },
    }
    const member = await join(context, broker, topic, listener, group)
    await eventually('all partitions come', () => owned === 200)
    await member.leave()
    assert.equal(await size(broker, group), 0, `round ${round}`)
  }
})

it('a member that leaves while it waits for its first partitions leaves nothing behind', async (context) => {
  const broker = connection()
  context.after(() => broker.close())
  const topic = await makeTopic(broker, uniqueName('leaving'), 2)
  const entered = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  // Until the first has answered, the group waits for it with the second's partitions, too.
  await join(context, broker, topic, {
    async assigned() {
      entered.resolve()
      await answer.promise
      return []
    },
  })
  await entered.promise
  const second = await join(context, broker, topic)
  await eventually(
    'the second is known to the group',
    async () => (await size(broker, topic)) === 2,
  )
  const leaving = second.leave()
  answer.resolve()
  await leaving
  assert.equal(await size(broker, topic), 1)
})
