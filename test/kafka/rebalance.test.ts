import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Broker, GroupMember } from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import { eventually } from '../../src/testing/eventually.ts'
import { connection, makeTopic, record, uniqueName } from './support.ts'

const partitions = 6

/** A member that polls all the time, and says at once whether a partition has two owners. */
class Probe {
  readonly owned: Set<number> = new Set()
  readonly seen: Set<string> = new Set()
  failure: unknown
  #member: GroupMember | undefined
  #loop: Promise<void> = Promise.resolve()
  #isOver = false

  static async join(
    broker: Broker,
    topic: string,
    owners: Map<number, Probe>,
    problems: string[],
  ): Promise<Probe> {
    const probe = new Probe()
    probe.#member = await broker.join(
      { group: topic, topics: [topic], start: 'earliest', logger: silent },
      {
        async assigned(given) {
          for (const { partition } of given) {
            if (owners.has(partition)) problems.push(`partition ${partition} has two owners`)
            owners.set(partition, probe)
            probe.owned.add(partition)
          }
          return []
        },
        async revoked(taken) {
          for (const { partition } of taken) {
            owners.delete(partition)
            probe.owned.delete(partition)
          }
        },
        lost: (taken) => problems.push(`${taken.length} partitions were lost`),
      },
    )
    probe.#loop = probe.#poll(probe.#member)
    return probe
  }

  async #poll(member: GroupMember): Promise<void> {
    try {
      while (!this.#isOver) {
        for (const { partition, offset } of await member.poll(100))
          this.seen.add(`${partition}/${offset}`)
      }
    } catch (error: unknown) {
      if (!this.#isOver) this.failure = error
    }
  }

  /** Returns how long leaving took. */
  async leave(): Promise<number> {
    const start = performance.now()
    this.#isOver = true
    await this.#member?.leave()
    await this.#loop
    return performance.now() - start
  }
}

it('case 14: through 20 joins and leaves each partition has one owner, and leaving never hangs', async () => {
  const base = connection()
  const topic = await makeTopic(base, uniqueName('case14'), partitions)
  const owners = new Map<number, Probe>()
  const problems: string[] = []
  const probes: Probe[] = []
  const brokers: Broker[] = [base]
  const join = async (): Promise<void> => {
    const broker = connection()
    brokers.push(broker)
    probes.push(await Probe.join(broker, topic, owners, problems))
  }
  const settle = (): Promise<boolean> =>
    eventually(`${probes.length} members share ${partitions} partitions`, () => {
      for (const { failure } of probes) if (failure !== undefined) throw failure
      return (
        owners.size === partitions &&
        probes.every(({ owned }) => owned.size === partitions / probes.length)
      )
    })
  const times: number[] = []
  try {
    for (let index = 0; index < 3; index += 1) await join()
    await settle()
    for (let round = 0; round < 10; round += 1) {
      const gone = probes.splice(round % 3, 1)[0] as Probe
      times.push(await gone.leave())
      await settle()
      await join()
      await settle()
      const producer = await base.producer()
      const sent = Array.from({ length: partitions }, (_, partition) =>
        record(topic, { partition, text: 'x' }),
      )
      assert.deepEqual(await producer.send(sent), [])
      await producer.close()
      // Each round's records come to the members of now, whatever moved before.
      await eventually('the records come', () => {
        const seen = new Set(probes.flatMap((probe) => [...probe.seen]))
        return Array.from({ length: partitions }, (_, partition) => `${partition}/${round}`).every(
          (one) => seen.has(one),
        )
      })
    }
    for (const probe of probes.splice(0)) times.push(await probe.leave())
    assert.deepEqual(problems, [])
    assert.ok(Math.max(...times) < 5_000, `the longest leave took ${Math.max(...times)} ms`)
  } finally {
    await Promise.all(probes.map((probe) => probe.leave()))
    await Promise.all(brokers.map((broker) => broker.close()))
  }
})

it('a member leaves also while its first assignment is under way', async () => {
  for (let round = 0; round < 5; round += 1) {
    const broker = connection()
    const topic = await makeTopic(broker, uniqueName('early'), 2)
    const called = Promise.withResolvers<void>()
    const member = await broker.join(
      { group: topic, topics: [topic], start: 'earliest', logger: silent },
      {
        async assigned() {
          called.resolve()
          return []
        },
        async revoked() {},
        lost: () => {},
      },
    )
    const poll = member.poll(1)
    // Before, during and after the assignment.
    if (round % 2 === 1) await called.promise
    const start = performance.now()
    await member.leave()
    await poll
    await broker.close()
    assert.ok(performance.now() - start < 6_000, `leaving took ${performance.now() - start} ms`)
  }
})

it('a partition is given up although its owner fails to', async () => {
  const [one, other] = [connection(), connection()]
  const topic = await makeTopic(one, uniqueName('failing'), 1)
  const listener = (events: string[]) => ({
    async assigned() {
      events.push('assigned')
      return []
    },
    async revoked(): Promise<void> {
      throw new Error('the store is away')
    },
    lost: () => {},
  })
  const [first, second]: [string[], string[]] = [[], []]
  const subscription = { group: topic, topics: [topic], start: 'earliest', logger: silent } as const
  const leaving = await one.join(subscription, listener(first))
  await eventually(
    'the partition is assigned',
    async () => (await leaving.poll(1), first.length > 0),
  )
  await leaving.leave()
  const taking = await other.join(subscription, listener(second))
  await eventually(
    'the partition is taken over',
    async () => (await taking.poll(1), second.length > 0),
  )
  await Promise.all([one.close(), other.close()])
})

it('a listener that fails to take a partition fails the poll, and nothing is delivered', async () => {
  const broker = connection()
  const topic = await makeTopic(broker, uniqueName('refusing'), 1)
  const producer = await broker.producer()
  await producer.send([record(topic, { text: 'x' })])
  const member = await broker.join(
    { group: topic, topics: [topic], start: 'earliest', logger: silent },
    {
      async assigned() {
        throw new Error('no ledger')
      },
      async revoked() {},
      lost: () => {},
    },
  )
  await assert.rejects(async () => {
    for (;;) assert.deepEqual(await member.poll(10), [])
  }, /no ledger/)
  await broker.close()
})
