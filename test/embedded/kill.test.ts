import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import type { Broker } from '../../src/ports/broker.ts'
import { Child } from './child.ts'

it('a kill at any moment loses no acknowledged record and leaves no hole in the numbering', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-kill-'))
  const topic = 'numbers'
  try {
    const maker = embeddedBroker({ folder })
    await maker.admin.createTopics([{ name: topic, partitions: 2 }])
    await maker.close()
    const acknowledged = new Set<number>()
    for (let round = 0; round < 20; round += 1) {
      const child = Child.start('appending-process.ts', folder, topic, String(round * 1_000_000))
      const enough = Math.floor(Math.random() * 40) + 1
      try {
        await child.until(`${enough} acknowledgements`, () => child.lines.length >= enough)
      } finally {
        await child.kill()
      }
      for (const line of child.lines)
        for (const number of line.split(' ')) acknowledged.add(Number(number))
      await checkLog(folder, topic, acknowledged)
    }
    assert.ok(acknowledged.size > 1_000, `${acknowledged.size} were acknowledged`)
  } finally {
    await rm(folder, { recursive: true })
  }
})

async function checkLog(
  folder: string,
  topic: string,
  acknowledged: ReadonlySet<number>,
): Promise<void> {
  const broker = embeddedBroker({ folder })
  try {
    await checkRecords(broker, topic, acknowledged)
  } finally {
    await broker.close()
  }
}

async function checkRecords(
  broker: Broker,
  topic: string,
  acknowledged: ReadonlySet<number>,
): Promise<void> {
  const ranges = await broker.admin.ranges([topic])
  const total = ranges.reduce((sum, { earliest, latest }) => sum + latest - earliest, 0)
  const reader = await broker.reader([0, 1].map((partition) => ({ topic, partition, offset: 0 })))
  const next = [0, 0]
  const last = [-1, -1]
  const found = new Set<number>()
  while (found.size < total) {
    for (const { partition, offset, value, headers } of await reader.poll(1_000)) {
      const number = Number(value)
      assert.equal(offset, next[partition], 'offsets have no hole')
      next[partition] = offset + 1
      assert.ok(number > (last[partition] ?? 0), 'the order is that of sending')
      last[partition] = number
      assert.deepEqual([...(headers[0]?.value ?? [])], [number % 256])
      found.add(number)
    }
  }
  const lost = [...acknowledged].filter((number) => !found.has(number))
  assert.deepEqual(lost, [])
  assert.deepEqual(
    next,
    ranges.map(({ latest }) => latest),
  )
}
