import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { eventually } from '../../src/testing/eventually.ts'

for (const kind of ['memory', 'folder'] as const) {
  it(`a member that leaves does not take its leaving for a removal (${kind})`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pollux-leaving-'))
    const broker = embeddedBroker(kind === 'folder' ? { folder } : {})
    const calls: string[] = []
    const quiet = { debug() {}, info() {}, error() {} }
    const logger = { ...quiet, warn: (_: object, message: string) => void calls.push(message) }
    try {
      await broker.admin.createTopics([{ name: 'topic', partitions: 2 }])
      for (let round = 0; round < 20; round += 1) {
        let assigned = 0
        const member = await broker.join(
          { group: 'group', topics: ['topic'], start: 'earliest', logger },
          {
            assigned: async (partitions) => {
              assigned += partitions.length
              return []
            },
            revoked: async () => {},
            lost: () => void calls.push('lost'),
          },
        )
        await eventually('both partitions are assigned', () => assigned === 2)
        await member.leave()
      }
      assert.deepEqual(calls, [])
    } finally {
      await broker.close()
      await rm(folder, { recursive: true })
    }
  })
}
