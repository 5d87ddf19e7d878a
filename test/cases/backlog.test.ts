import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { meetBacklog } from './backlog.ts'

test('case 7: a slow handler in front of a long backlog keeps its memory, and its place in the group', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-backlog-'))
  const broker = embeddedBroker({ folder })
  try {
    await meetBacklog(broker, { folder, group: 'slow', topic: 'backlog' })
  } finally {
    await broker.close()
    await rm(folder, { recursive: true })
  }
})
