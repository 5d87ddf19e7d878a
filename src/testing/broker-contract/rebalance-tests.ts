import assert from 'node:assert/strict'
import { holds } from '../eventually.ts'
import { type ContractCluster, type ContractTest, numbered } from './cluster.ts'
import { GroupProbe, Ownership, type ProbeOptions, partitionName } from './group-probe.ts'

function sizes(probes: readonly GroupProbe[]): number[] {
  return probes.map(({ owned }) => owned.size).toSorted()
}

async function settle(
  cluster: ContractCluster,
  probes: readonly GroupProbe[],
  expected: number[],
): Promise<void> {
  await cluster.eventually(`the members own ${expected.join(', ')} partitions`, () => {
    for (const { failure, name } of probes)
      if (failure !== undefined) throw new Error(name, { cause: failure })
    return sizes(probes).join() === expected.join()
  })
}

/** Several members of one group. */
export const rebalanceTests: readonly ContractTest[] = [
  {
    title: 'two members share the partitions, and each record goes to one of them',
    async run(cluster) {
      const topic = await cluster.topic(4)
      const options = { group: cluster.uniqueName(), topics: [topic], ownership: new Ownership() }
      const probes = [
        await GroupProbe.join(cluster, options),
        await GroupProbe.join(cluster, options),
      ]
      await settle(cluster, probes, [2, 2])
      await cluster.send([0, 1, 2, 3].flatMap((partition) => numbered(topic, 10, partition)))
      await cluster.eventually(
        'all records come',
        () => probes.flatMap(({ records }) => records).length >= 40,
      )
      for (const probe of probes) {
        assert.equal(probe.records.length, 20)
        assert.ok(probe.records.every((one) => probe.owned.has(partitionName(one))))
      }
      assert.deepEqual(options.ownership.violations, [])
    },
  },
  {
    title:
      'case 14: a third member takes only what it needs; no partition has two owners, the rest goes on',
    async run(cluster) {
      const topic = await cluster.topic(6)
      const options = {
        group: cluster.uniqueName(),
        topics: [topic],
        ownership: new Ownership(),
        commits: true,
      }
      const probes = [
        await GroupProbe.join(cluster, options),
        await GroupProbe.join(cluster, options),
      ]
      await settle(cluster, probes, [3, 3])
      const before = probes.map(({ owned }) => new Set(owned))
      const revokedBefore = probes.map((probe) => probe.eventsOf('revoked').length)
      probes.push(await GroupProbe.join(cluster, options))
      await settle(cluster, probes, [2, 2, 2])
      for (const [index, kept] of before.entries()) {
        const probe = probes[index]
        assert.ok(probe)
        assert.equal(
          [...probe.owned].filter((name) => !kept.has(name)).length,
          0,
          `${probe.name} got others`,
        )
        assert.equal(
          probe.eventsOf('revoked').length - (revokedBefore[index] ?? 0),
          1,
          'one partition moved',
        )
        assert.deepEqual(probe.eventsOf('lost'), [])
      }
      assert.deepEqual(options.ownership.violations, [])
    },
  },
  {
    title: 'a kept partition is delivered while another one’s revoked is still pending',
    async run(cluster) {
      const topic = await cluster.topic(2)
      const gate = Promise.withResolvers<void>()
      cluster.defer(async () => gate.resolve())
      const options: ProbeOptions = {
        group: cluster.uniqueName(),
        topics: [topic],
        ownership: new Ownership(),
      }
      const wanted: string[] = []
      const first = await GroupProbe.join(cluster, {
        ...options,
        async revoked(partitions) {
          wanted.push(...partitions.map(partitionName))
          await gate.promise
        },
      })
      await settle(cluster, [first], [2])
      const second = await GroupProbe.join(cluster, options)
      await cluster.eventually('a partition is wanted back', () => wanted.length === 1)
      const kept = wanted[0] === `${topic}/0` ? 1 : 0
      await cluster.send([...numbered(topic, 5, 0), ...numbered(topic, 5, 1)])
      await cluster.eventually('the kept partition goes on', () => first.textsOf(kept).length === 5)
      await holds(() => {
        assert.deepEqual(first.textsOf(1 - kept), [], 'the wanted one is not delivered any more')
        assert.equal(second.owned.size, 0)
      })
      gate.resolve()
      await cluster.eventually(
        'the moved partition goes on',
        () => second.textsOf(1 - kept).length === 5,
      )
      assert.deepEqual(options.ownership?.violations, [])
    },
  },
  {
    title:
      'cases 9 and 11: revoked is awaited, a commit inside it counts, and the next owner starts there',
    async run(cluster) {
      const topic = await cluster.topic(2)
      await cluster.send([...numbered(topic, 10, 0), ...numbered(topic, 10, 1)])
      const options = { group: cluster.uniqueName(), topics: [topic], ownership: new Ownership() }
      const gate = Promise.withResolvers<void>()
      cluster.defer(async () => gate.resolve())
      const committed: string[] = []
      const first = await GroupProbe.join(cluster, {
        ...options,
        async revoked(partitions, probe) {
          await gate.promise
          await probe.member.commit(partitions.map((one) => ({ ...one, offset: 6 })))
          committed.push(...partitions.map(partitionName))
        },
      })
      await cluster.eventually('all records come', () => first.records.length === 20)
      const second = await GroupProbe.join(cluster, options)
      await cluster.eventually(
        'a partition is wanted back',
        () => first.eventsOf('revoked').length === 1,
      )
      await holds(() =>
        assert.equal(second.owned.size, 0, 'not handed over before revoked resolves'),
      )
      gate.resolve()
      await settle(cluster, [first, second], [1, 1])
      await cluster.eventually('the rest comes', () => second.records.length >= 4)
      assert.deepEqual([...second.owned], committed)
      assert.deepEqual(
        second.assigned.map((one) => [one.committed, one.start]),
        [[6, 6]],
      )
      assert.deepEqual(
        second.records.map(({ offset }) => offset),
        [6, 7, 8, 9],
      )
      assert.deepEqual(options.ownership.violations, [])
    },
  },
  {
    title: 'case 8: a commit for a partition that was given up is rejected, and changes nothing',
    async run(cluster) {
      const topic = await cluster.topic(2)
      const group = cluster.uniqueName()
      await cluster.send([...numbered(topic, 10, 0), ...numbered(topic, 10, 1)])
      const first = await GroupProbe.join(cluster, { group, topics: [topic] })
      await cluster.eventually('all records come', () => first.records.length === 20)
      const second = await GroupProbe.join(cluster, { group, topics: [topic] })
      await settle(cluster, [first, second], [1, 1])
      const moved = second.assigned[0]?.partition ?? -1
      await cluster.within('commit', second.member.commit([{ topic, partition: moved, offset: 3 }]))
      await assert.rejects(
        cluster.within('commit', first.member.commit([{ topic, partition: moved, offset: 9 }])),
        { code: 'POLLUX_BROKER_REFUSED' },
      )
      const { offsets } = await (await cluster.broker()).admin.group(group)
      assert.equal(offsets.find(({ partition }) => partition === moved)?.offset, 3)
    },
  },
  {
    title: 'leave hands the partitions over at once',
    async run(cluster) {
      const topic = await cluster.topic(4)
      const options = { group: cluster.uniqueName(), topics: [topic], ownership: new Ownership() }
      const probes = [
        await GroupProbe.join(cluster, options),
        await GroupProbe.join(cluster, options),
      ]
      await settle(cluster, probes, [2, 2])
      const [first, second] = probes as [GroupProbe, GroupProbe]
      await cluster.within('leave', first.leave())
      await settle(cluster, [second], [4])
      assert.deepEqual(
        second.eventsOf('revoked'),
        second.eventsOf('revoked').slice(0, 2),
        'nothing else moved',
      )
      assert.deepEqual(options.ownership.violations, [])
    },
  },
  {
    title: 'a partition that was given up and comes back is delivered again',
    async run(cluster) {
      const topic = await cluster.topic(2)
      const options = { group: cluster.uniqueName(), topics: [topic], ownership: new Ownership() }
      const first = await GroupProbe.join(cluster, options)
      await settle(cluster, [first], [2])
      const second = await GroupProbe.join(cluster, options)
      await settle(cluster, [first, second], [1, 1])
      await cluster.within('leave', second.leave())
      await settle(cluster, [first], [2])
      await cluster.send([0, 1].flatMap((partition) => numbered(topic, 10, partition)))
      await cluster.eventually('all records come', () => first.records.length === 20)
      assert.deepEqual(options.ownership.violations, [])
    },
  },
  {
    title: 'a member without a partition waits, and takes over when another leaves',
    async run(cluster) {
      const topic = await cluster.topic(1)
      const options = { group: cluster.uniqueName(), topics: [topic], ownership: new Ownership() }
      const probes = [
        await GroupProbe.join(cluster, options),
        await GroupProbe.join(cluster, options),
      ]
      await settle(cluster, probes, [0, 1])
      const [owner, idle] = probes[0]?.owned.size === 1 ? probes : probes.toReversed()
      await cluster.within('leave', (owner as GroupProbe).leave())
      await settle(cluster, [idle as GroupProbe], [1])
      await cluster.send(numbered(topic, 3))
      await cluster.eventually('the records come', () => idle?.records.length === 3)
      assert.deepEqual(options.ownership.violations, [])
    },
  },
  {
    title: 'case 73: a topic goes only to members that subscribe to it',
    async run(cluster) {
      const [one, other] = [await cluster.topic(2), await cluster.topic(2)]
      const group = cluster.uniqueName()
      const first = await GroupProbe.join(cluster, { group, topics: [one] })
      const second = await GroupProbe.join(cluster, { group, topics: [other] })
      await settle(cluster, [first, second], [2, 2])
      assert.deepEqual([...first.owned].toSorted(), [`${one}/0`, `${one}/1`])
      assert.deepEqual([...second.owned].toSorted(), [`${other}/0`, `${other}/1`])
    },
  },
  {
    title: 'every record is delivered while members join and leave',
    async run(cluster) {
      const topic = await cluster.topic(4)
      const options = {
        group: cluster.uniqueName(),
        topics: [topic],
        ownership: new Ownership(),
        commits: true,
      }
      const probes: GroupProbe[] = []
      const join = async (): Promise<void> =>
        void probes.push(await GroupProbe.join(cluster, options))
      const send = async (round: number): Promise<void> =>
        cluster.send(
          [0, 1, 2, 3].flatMap((partition) => numbered(topic, 5, partition, `${round}-`)),
        )
      await join()
      await send(0)
      await join()
      await send(1)
      await join()
      await settle(cluster, probes, [1, 1, 2])
      await send(2)
      const gone = probes.shift() as GroupProbe
      await cluster.within('leave', gone.leave())
      await send(3)
      await settle(cluster, probes, [2, 2])
      await send(4)
      const all = [gone, ...probes]
      const offsets = (partition: number): Set<number> =>
        new Set(
          all
            .flatMap(({ records }) => records.filter((it) => it.partition === partition))
            .map((it) => it.offset),
        )
      await cluster.eventually('all 100 records were delivered', () =>
        [0, 1, 2, 3].every((partition) => offsets(partition).size === 25),
      )
      assert.deepEqual(options.ownership.violations, [])
    },
  },
]
