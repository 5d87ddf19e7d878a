import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assign, type Subscriber } from '../../src/embedded/assign.ts'
import { partitionKey } from '../../src/embedded/partition-key.ts'
import type { TopicPartition } from '../../src/ports/broker.ts'

function partitionsOf(topics: Readonly<Record<string, number>>): TopicPartition[] {
  return Object.entries(topics).flatMap(([topic, count]) =>
    Array.from({ length: count }, (_, partition) => ({ topic, partition })),
  )
}

function named(
  assignment: ReadonlyMap<string, readonly TopicPartition[]>,
): Record<string, string[]> {
  return Object.fromEntries(
    [...assignment].map(([id, partitions]) => [id, partitions.map(partitionKey)]),
  )
}

const topicNames = ['a', 'b', 'c'] as const
const topicCounts = fc.record({ a: fc.nat(7), b: fc.nat(5), c: fc.nat(3) })

/** Members with any subscriptions, and any current assignment, valid or not. */
const anyCase = fc.record({
  topics: topicCounts,
  members: fc.array(
    fc.record({
      topics: fc.subarray([...topicNames], { minLength: 1 }),
      current: fc.array(
        fc.record({ topic: fc.constantFrom(...topicNames), partition: fc.nat(8) }),
        { maxLength: 8 },
      ),
    }),
    { minLength: 1, maxLength: 5 },
  ),
})

/** Members that all subscribe to everything and share some of the partitions already. */
const equalCase = fc
  .record({
    topics: topicCounts,
    owners: fc.array(fc.integer({ min: -1, max: 5 }), { minLength: 16 }),
    size: fc.integer({ min: 1, max: 6 }),
  })
  .map(({ topics, owners, size }) => {
    const partitions = partitionsOf(topics)
    const members = Array.from({ length: size }, (_, index) => ({
      id: `m${index}`,
      topics: topicNames,
      current: partitions.filter((_, place) => owners[place] === index),
    }))
    return { partitions, members }
  })

function toMembers(members: readonly Omit<Subscriber, 'id'>[]): Subscriber[] {
  return members.map((member, index) => ({ ...member, id: `m${index}` }))
}

describe('assign', () => {
  it('gives each partition to exactly one member that subscribes to it', () => {
    fc.assert(
      fc.property(anyCase, ({ topics, members }) => {
        const all = toMembers(members)
        const result = assign(all, partitionsOf(topics))
        const given = [...result.values()].flat().map(partitionKey).toSorted()
        const wanted = partitionsOf(topics)
          .filter(({ topic }) => all.some((member) => member.topics.includes(topic)))
          .map(partitionKey)
          .toSorted()
        assert.deepEqual(given, wanted)
        for (const member of all) {
          for (const { topic } of result.get(member.id) ?? [])
            assert.ok(member.topics.includes(topic))
        }
      }),
    )
  })

  it('is as even as the subscriptions allow', () => {
    fc.assert(
      fc.property(anyCase, ({ topics, members }) => {
        const all = toMembers(members)
        const result = assign(all, partitionsOf(topics))
        const loads = new Map([...result].map(([id, partitions]) => [id, partitions.length]))
        // Shared as evenly as possible exactly when no chain of hand-overs leads to a member with two fewer.
        for (const { id } of all) {
          const reached = new Set([id])
          for (const at of reached) {
            for (const next of all) {
              if ((result.get(at) ?? []).some(({ topic }) => next.topics.includes(topic)))
                reached.add(next.id)
            }
          }
          for (const other of reached) {
            assert.ok(
              (loads.get(id) ?? 0) - (loads.get(other) ?? 0) < 2,
              JSON.stringify(named(result)),
            )
          }
        }
      }),
    )
  })

  it('moves no partition more than an even share needs, when all subscribe to the same', () => {
    fc.assert(
      fc.property(equalCase, ({ partitions, members }) => {
        const result = assign(members, partitions)
        const sizes = members.map(({ id }) => result.get(id)?.length ?? 0)
        assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1)
        const moved = members.reduce((sum, { id, current }) => {
          const now = new Set(result.get(id)?.map(partitionKey))
          return sum + current.filter((partition) => !now.has(partitionKey(partition))).length
        }, 0)
        assert.equal(
          moved,
          fewestMoves(
            members.map(({ current }) => current.length),
            partitions.length,
          ),
        )
      }),
    )
  })

  it('changes nothing when asked again', () => {
    fc.assert(
      fc.property(anyCase, ({ topics, members }) => {
        const all = toMembers(members)
        const first = assign(all, partitionsOf(topics))
        const again = assign(
          all.map((member) => ({ ...member, current: first.get(member.id) ?? [] })),
          partitionsOf(topics),
        )
        assert.deepEqual(named(again), named(first))
      }),
    )
  })

  it('gives the same answer whatever the order of the members', () => {
    fc.assert(
      fc.property(anyCase, ({ topics, members }) => {
        const all = toMembers(members)
        const one = named(assign(all, partitionsOf(topics)))
        const other = named(assign(all.toReversed(), partitionsOf(topics).toReversed()))
        assert.deepEqual(other, one)
      }),
    )
  })

  it('takes no noticeable time for a thousand partitions', () => {
    const partitions = partitionsOf({ a: 1_000 })
    const start = performance.now()
    let current: ReadonlyMap<string, readonly TopicPartition[]> = new Map()
    for (let size = 1; size <= 8; size += 1) {
      const members = Array.from({ length: size }, (_, index) => `m${index}`)
      current = assign(
        members.map((id) => ({ id, topics: ['a'], current: current.get(id) ?? [] })),
        partitions,
      )
    }
    assert.equal(current.get('m7')?.length, 125)
    // A quarter of a second on a quiet machine; the square of it when each move sorts everything.
    assert.ok(performance.now() - start < 10_000)
  })

  it('spreads the topics when a second member joins', () => {
    const partitions = partitionsOf({ a: 4, b: 4 })
    const topics = ['a', 'b']
    const result = assign(
      [
        { id: 'old', topics, current: partitions },
        { id: 'new', topics, current: [] },
      ],
      partitions,
    )
    const topicsOfNew = result.get('new')?.map(({ topic }) => topic)
    assert.deepEqual(topicsOfNew?.toSorted(), ['a', 'a', 'b', 'b'])
  })

  it('moves load through a member in between where subscriptions leave no direct way', () => {
    const partitions = partitionsOf({ a: 4, b: 1 })
    const result = assign(
      [
        { id: 'm0', topics: ['a'], current: partitions.filter(({ topic }) => topic === 'a') },
        { id: 'm1', topics: ['a', 'b'], current: partitions.filter(({ topic }) => topic === 'b') },
        { id: 'm2', topics: ['b'], current: [] },
      ],
      partitions,
    )
    assert.deepEqual(
      [...result.values()].map(({ length }) => length),
      [2, 2, 1],
    )
  })
})

/** By trying each choice of who gets the larger share. */
function fewestMoves(sizes: readonly number[], total: number): number {
  const floor = Math.floor(total / sizes.length)
  const extra = total % sizes.length
  // A member gives up what is above its share; the largest members gain most from a larger one.
  const sorted = sizes.toSorted((one, other) => other - one)
  return sorted.reduce(
    (sum, size, index) => sum + Math.max(0, size - floor - (index < extra ? 1 : 0)),
    0,
  )
}
