import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  addMember,
  emptyGroup,
  findMember,
  type GroupState,
  notOwned,
  releasePartitions,
  removeMembers,
  stateName,
  takePartitions,
} from '../../src/embedded/group-state.ts'
import { partitionKey } from '../../src/embedded/partition-key.ts'

const counts: Readonly<Record<string, number>> = { a: 5, b: 2 }
const partitionCount = (topic: string): number => counts[topic] ?? 0

function member(id: string, topics: readonly string[] = ['a', 'b'], session = id) {
  return { id, session, clientId: 'c', host: 'h', topics }
}

function checkInvariants(group: GroupState): void {
  const owned = group.members.flatMap((one) => one.owned.map(partitionKey))
  assert.equal(new Set(owned).size, owned.length, 'a partition has two owners')
  const targets = group.members.flatMap((one) => one.target.map(partitionKey))
  assert.equal(new Set(targets).size, targets.length, 'a partition is the target of two')
}

/** Lets everybody take the steps that are open until nobody has one, in the order that `pick` gives. */
function settle(group: GroupState, pick: (count: number) => number): GroupState {
  let now = group
  for (let step = 0; step < 200; step += 1) {
    const open = now.members.filter(({ id, owned, target }) => {
      const wanted = new Set(target.map(partitionKey))
      return (
        owned.some((one) => !wanted.has(partitionKey(one))) ||
        takePartitions(now, id).taken.length > 0
      )
    })
    const next = open[pick(open.length)]
    if (next === undefined) return now
    now = oneStep(now, next.id)
    checkInvariants(now)
  }
  assert.fail('the group does not come to rest')
}

function oneStep(group: GroupState, id: string): GroupState {
  const one = findMember(group, id)
  const target = new Set(one?.target.map(partitionKey))
  const wanted = one?.owned.filter((partition) => !target.has(partitionKey(partition))) ?? []
  return wanted.length > 0 ? releasePartitions(group, id, wanted) : takePartitions(group, id).group
}

const step = fc.oneof(
  fc.record({
    kind: fc.constant('join' as const),
    topics: fc.subarray(['a', 'b'], { minLength: 1 }),
  }),
  fc.record({ kind: fc.constant('leave' as const), who: fc.nat(10) }),
  fc.record({ kind: fc.constant('step' as const), who: fc.nat(10) }),
)

describe('a group’s state', () => {
  it('never gives a partition to two, and comes to rest with all given, whatever happens in which order', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.infiniteStream(fc.nat(100)),
        (steps, picks) => {
          let group = emptyGroup
          let joined = 0
          for (const one of steps) {
            const who =
              one.kind === 'join'
                ? undefined
                : group.members[one.who % Math.max(1, group.members.length)]
            if (one.kind === 'join')
              group = addMember(group, member(`m${joined++}`, one.topics), partitionCount)
            else if (one.kind === 'leave')
              group = removeMembers(group, ({ id }) => id === who?.id, partitionCount)
            else if (who !== undefined) group = oneStep(group, who.id)
            checkInvariants(group)
          }
          group = settle(group, (count) => Number(picks.next().value) % Math.max(1, count))
          const wanted = Object.keys(counts).filter((topic) =>
            group.members.some((one) => one.topics.includes(topic)),
          )
          const owned = group.members.flatMap((one) => one.owned)
          assert.equal(
            owned.length,
            wanted.reduce((sum, topic) => sum + partitionCount(topic), 0),
          )
          assert.equal(stateName(group), group.members.length === 0 ? 'Empty' : 'Stable')
        },
      ),
    )
  })

  it('a partition that is wanted back is not free before it is released', () => {
    let group = takePartitions(
      addMember(emptyGroup, member('old', ['b']), partitionCount),
      'old',
    ).group
    group = addMember(group, member('new', ['b']), partitionCount)
    assert.equal(stateName(group), 'PreparingRebalance')
    assert.deepEqual(takePartitions(group, 'new').taken, [])
    const target = findMember(group, 'old')?.target ?? []
    const [wanted] = notOwnedBy(target, findMember(group, 'old')?.owned ?? [])
    assert.ok(wanted)
    group = releasePartitions(group, 'old', [wanted])
    assert.deepEqual(takePartitions(group, 'new').taken, [wanted])
    assert.deepEqual(notOwned(group, 'old', [wanted]), [wanted])
  })

  it('a partition on its way to another member stays on its way when a third one joins', () => {
    let group = takePartitions(
      addMember(emptyGroup, member('m0', ['a']), partitionCount),
      'm0',
    ).group
    group = addMember(group, member('m1', ['a']), partitionCount)
    const onItsWay = findMember(group, 'm1')?.target.map(partitionKey) ?? []
    group = addMember(group, member('m2', ['a']), partitionCount)
    const still = findMember(group, 'm0')?.target.map(partitionKey) ?? []
    assert.deepEqual(
      still.filter((name) => onItsWay.includes(name)),
      [],
    )
  })

  it('what a member that is gone asks for changes nothing', () => {
    const group = addMember(emptyGroup, member('m0'), partitionCount)
    assert.equal(takePartitions(group, 'gone').group, group)
    assert.equal(releasePartitions(group, 'gone', [{ topic: 'a', partition: 0 }]), group)
    assert.equal(
      removeMembers(group, ({ id }) => id === 'gone', partitionCount),
      group,
    )
    assert.equal(notOwned(group, 'gone', [{ topic: 'a', partition: 0 }]).length, 1)
  })
})

function notOwnedBy<P extends { topic: string; partition: number }>(
  target: readonly P[],
  owned: readonly P[],
): P[] {
  const names = new Set(target.map(partitionKey))
  return owned.filter((partition) => !names.has(partitionKey(partition)))
}
