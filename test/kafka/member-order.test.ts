import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DriverConsumer, DriverError, DriverMessage } from '../../src/kafka/driver.ts'
import { KafkaMember, type MemberParts } from '../../src/kafka/member.ts'
import { Secrets } from '../../src/kafka/secrets.ts'
import { Wake } from '../../src/kafka/wake.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually, within } from '../../src/testing/index.ts'
import { idle } from './support.ts'

type Done = (error: null, messages: DriverMessage[]) => void

const place = { topic: 't', partition: 0 }

function message(offset: number): DriverMessage {
  return { ...place, offset, timestamp: 0, key: null, value: Buffer.from('v') } as DriverMessage
}

/**
 * A member on a driver whose queue is played by hand, as the moment that counts lasts less than a millisecond on a
 * real one: its calls of `consume` wait in `taking` for their records.
 */
async function memberByHand() {
  const taking: { readonly max: number; readonly done: Done }[] = []
  const client = {
    setDefaultConsumeTimeout() {},
    incrementalAssign() {},
    commit() {},
    consume: (max: number, done: Done) => void taking.push({ max, done }),
  } as unknown as DriverConsumer
  const member = new KafkaMember({
    connected: { client, log: { isUp() {} } as unknown as MemberParts['connected']['log'] },
    wake: new Wake(),
    subscription: { group: 'g', topics: ['t'], start: 'earliest', logger: silent },
    listener: idle,
    context: {
      logger: silent,
      secrets: new Secrets(),
      where: 'nowhere',
      closed: new AbortController().signal,
    },
    sessionTimeout: 10_000,
    pollLimit: 10_000,
    starts: async (_, partitions) =>
      partitions.map((partition) => ({ ...partition, committed: 0, start: 0 })),
    isRebalancing: async () => false,
    left() {},
  })
  member.callbacks.rebalance({ code: -175 } as DriverError, [place])
  return { member, taking }
}

test('a record that a commit took while a poll waited for its turn is delivered before those of the poll', async () => {
  const { member, taking } = await memberByHand()
  // The partition is ours once a commit for it is taken on.
  let committed: Promise<void> = Promise.resolve()
  await eventually('the commit takes a record', () => {
    if (taking.length > 0) return true
    committed = member.commit([{ ...place, offset: 0 }])
    committed.catch(() => {})
    return false
  })
  const polled = member.poll(10)
  taking.shift()?.done(null, [message(0)])
  await eventually('the poll takes records', () => taking.length > 0)
  member.callbacks.committed(undefined)
  taking.shift()?.done(null, [message(1), message(2)])
  const records = await within('poll', polled)
  assert.deepEqual(
    records.map(({ offset }) => offset),
    [0, 1, 2],
  )
})
