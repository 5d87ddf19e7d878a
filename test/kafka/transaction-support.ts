import assert from 'node:assert/strict'
import { loadDriver } from '../../src/kafka/driver.ts'
import type { Broker, GroupMember } from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually, within } from '../../src/testing/eventually.ts'
import { idle } from './support.ts'

/** A member that has all partitions of a topic, and polls until its connection is closed. */
export async function pollingMember(broker: Broker, topic: string): Promise<GroupMember> {
  const assigned = Promise.withResolvers<void>()
  const member = await broker.join(
    { group: topic, topics: [topic], start: 'earliest', logger: silent },
    {
      ...idle,
      async assigned() {
        assigned.resolve()
        return []
      },
    },
  )
  void poll(member)
  await within('the partitions are assigned', assigned.promise, 60_000)
  return member
}

async function poll(member: GroupMember): Promise<void> {
  try {
    for (;;) await member.poll(100)
  } catch {
    // It has left.
  }
}

/** The texts of a partition's records that can be read, once there are as many. */
export async function readTexts(broker: Broker, topic: string, count: number): Promise<string[]> {
  const reader = await broker.reader([{ topic, partition: 0, offset: 0 }])
  const texts: string[] = []
  await eventually(
    `${count} records are read`,
    async () => {
      texts.push(...(await reader.poll(1_000)).map(({ value }) => String(value)))
      return texts.length >= count
    },
    { deadline: 60_000 },
  )
  await reader.close()
  return texts
}

/** The group's position in partition 0 of a topic. */
export async function positionOf(broker: Broker, topic: string): Promise<number | undefined> {
  const { offsets } = await broker.admin.group(topic)
  return offsets.find((one) => one.topic === topic && one.partition === 0)?.offset
}

type Name = 'commitTransaction' | 'sendOffsetsToTransaction'
type Call = (this: unknown, ...given: unknown[]) => void

/** Puts another call in place of one of the driver's; returns what undoes that. */
async function replace(name: Name, make: (real: Call) => Call): Promise<() => void> {
  const { Producer } = await loadDriver()
  const target = Producer.prototype as unknown as Record<Name, Call>
  const real = target[name]
  assert.equal(typeof real, 'function')
  target[name] = make(real)
  return () => {
    target[name] = real
  }
}

/** Holds up the driver's calls of that name: `reached` resolves at the first, which goes on after `open`. */
export async function gate(name: Name): Promise<{ reached: Promise<void>; open: () => void }> {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const undo = await replace(
    name,
    (real) =>
      function (...given) {
        reached.resolve()
        void opened.promise.then(() => real.apply(this, given))
      },
  )
  return {
    reached: reached.promise,
    open: () => {
      undo()
      opened.resolve()
    },
  }
}

/** The next commit succeeds, and its answer gets lost: the producer hears of a newer one instead, after `delay`. */
export async function loseAnswer(delay: number): Promise<void> {
  const undo = await replace(
    'commitTransaction',
    (real) =>
      function (timeout, done) {
        undo()
        real.call(this, timeout, (error: unknown) => {
          const fenced = Object.assign(new Error('fenced'), { code: -144, isFatal: true })
          setTimeout(() => (done as (error: unknown) => void)(error ?? fenced), delay)
        })
      },
  )
}
