import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fetcher } from '../../src/engine/fetcher.ts'
import { Partition, Work } from '../../src/engine/partition.ts'
import { bytes, topic } from '../../src/index.ts'
import type { RawMessage } from '../../src/message.ts'
import type { GroupMember, TopicPartition } from '../../src/ports/broker.ts'
import { systemClock } from '../../src/system-clock.ts'
import { eventually } from '../../src/testing/index.ts'

const numbers = topic('numbers', { value: bytes })

/** A member with endless records in partition 0 and one at a time in partition 1; what is paused it does not deliver. */
class EndlessMember implements GroupMember {
  readonly paused = new Set<number>()
  readonly delivered = [0, 0]
  polls = 0
  quiet = 0

  async poll(max: number): Promise<readonly RawMessage[]> {
    this.polls += 1
    await new Promise<void>((resolve) => setImmediate(resolve))
    const records: RawMessage[] = []
    if (!this.paused.has(1) && this.quiet > 0) {
      this.quiet -= 1
      records.push(this.#record(1))
    }
    if (!this.paused.has(0)) while (records.length < max) records.push(this.#record(0))
    return records
  }

  #record(partition: number): RawMessage {
    const offset = this.delivered[partition] ?? 0
    this.delivered[partition] = offset + 1
    return {
      topic: 'numbers',
      partition,
      offset,
      timestamp: 0,
      key: null,
      value: Buffer.alloc(800),
      headers: [],
    }
  }

  pause(partitions: readonly TopicPartition[]): void {
    for (const { partition } of partitions) this.paused.add(partition)
  }

  resume(partitions: readonly TopicPartition[]): void {
    for (const { partition } of partitions) this.paused.delete(partition)
  }

  async seek(): Promise<void> {}
  async commit(): Promise<void> {}
  async leave(): Promise<void> {}
}

function fetching(bounds: { readonly messages: number; readonly bytes: number }) {
  const member = new EndlessMember()
  const partitions = [0, 1].map((index) => new Partition(numbers, index, 0, 0, ''))
  const fetcher = new Fetcher({
    member,
    partitions: () => partitions,
    find: (_, partition) => partitions[partition],
    take: (raw, partition) => new Work(raw, partition),
    accepted: () => {},
    bounds: { ...bounds, inWork: bounds.messages },
    clock: systemClock,
  })
  const running = fetcher.run()
  const take = (index: number): Work => {
    const work = partitions[index]?.queue.shift()
    assert.ok(work)
    return work
  }
  const stop = async (): Promise<void> => {
    fetcher.end()
    await running
  }
  return { member, partitions, fetcher, running, take, stop }
}

test('a buffer that stays full pauses its partitions, polling goes on, and room resumes them', async () => {
  const { member, partitions, fetcher, take, stop } = fetching({ messages: 100, bytes: 1e9 })
  await eventually('partition 0 is paused', () => member.paused.has(0))
  assert.equal(partitions[0]?.buffered, 100)
  const polls = member.polls
  await eventually('polling goes on', () => member.polls > polls + 2)
  assert.equal(partitions[0]?.buffered, 100)
  for (let count = 0; count < 80; count += 1) {
    const work = take(0)
    work.partition.tracker.settle(work.place)
    fetcher.release(work)
  }
  await eventually('it is resumed', () => !member.paused.has(0))
  await stop()
})

test('the bound in bytes holds as the one in messages does', async () => {
  const { member, partitions, stop } = fetching({ messages: 1e6, bytes: 100_000 })
  await eventually('partition 0 is paused', () => member.paused.has(0))
  // The last poll is sized by the average of those before, so it can go over by a few.
  assert.ok((partitions[0]?.bufferedBytes ?? 0) < 150_000, String(partitions[0]?.bufferedBytes))
  await stop()
})

test('a partition with a long backlog fills its share and leaves the rest to the others', async () => {
  const { member, partitions, fetcher, take, stop } = fetching({ messages: 100, bytes: 1e9 })
  await eventually('partition 0 is paused', () => member.paused.has(0))
  for (let count = 0; count < 30; count += 1) {
    const work = take(0)
    work.partition.tracker.settle(work.place)
    fetcher.release(work)
  }
  member.quiet = 1
  await eventually('partition 1 gets in', () => partitions[1]?.buffered === 1)
  assert.ok(member.paused.has(0), 'above half of its share it stays paused')
  await stop()
})

test('a record that comes out of order stops the service', async () => {
  const { member, running } = fetching({ messages: 1e6, bytes: 1e12 })
  const stopped = assert.rejects(running, /delivered numbers\/0\/0 out of order/)
  await eventually('records come', () => (member.delivered[0] ?? 0) > 10)
  member.delivered[0] = 0
  await stopped
})

test('one message that does not finish does not let its partition run on for ever', async () => {
  const { member, partitions, fetcher, stop } = fetching({ messages: 200, bytes: 1e9 })
  const [partition] = partitions
  assert.ok(partition)
  let first: Work | undefined
  await eventually('partition 0 is paused', () => {
    for (let work = partition.queue.shift(); work !== undefined; work = partition.queue.shift()) {
      first ??= work
      if (work === first) continue
      partition.tracker.settle(work.place)
      fetcher.release(work)
    }
    return member.paused.has(0)
  })
  assert.equal(partition.tracker.position, 0)
  assert.ok(partition.tracker.ahead < 2_000, String(partition.tracker.ahead))
  assert.ok(first)
  partition.tracker.settle(first.place)
  fetcher.release(first)
  await eventually('it is resumed', () => !member.paused.has(0))
  await stop()
})
