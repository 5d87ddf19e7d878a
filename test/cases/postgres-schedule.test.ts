import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import type { Broker } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import {
  type Crash,
  type CrashPoint,
  CrashProcess,
  eventually,
  messagesOf,
} from '../../src/testing/index.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { dueTables, reminders, slice } from './due-work.ts'
import { scheduleCases } from './schedule-cases.ts'
import type { ScheduleSettings } from './schedule-process.ts'

const schema = freshName()

beforeEach(async () => {
  await ask(`drop schema if exists ${schema} cascade`)
  await ask(`create schema ${schema}`)
})
after(() => ask(`drop schema if exists ${schema} cascade`))

scheduleCases('PostgreSQL', () => ({
  store: () => postgres({ connectionString: address(), schema }),
  ask,
  schema,
}))

interface Crashing {
  readonly point: CrashPoint
  readonly signal: NonNullable<Crash['signal']>
  /** What a process that wakes says when it finds out. */
  readonly tells?: RegExp
}

const crashes: readonly Crashing[] = [
  { point: 'storing', signal: 'SIGKILL' },
  { point: 'stored', signal: 'SIGKILL' },
  { point: 'acknowledged', signal: 'SIGKILL' },
  { point: 'storing', signal: 'SIGSTOP', tells: /a transaction was taken back|"isFenced":true/ },
  { point: 'stored', signal: 'SIGSTOP', tells: /partitions lost/ },
]

for (const { point, signal, tells } of crashes) {
  test(`${signal} of the one that runs it, when it is ${point}: the other one takes over, and nothing is done twice`, async () => {
    await inFolder(async (folder, broker) => {
      const store = postgres({ connectionString: address(), schema })
      await store.migrate()
      await store.close()
      for (const statement of dueTables(schema)) await ask(statement)
      await becomeDue(0, 12 * slice)
      const owner = start(folder, 'owner', { point, count: 3, signal })
      // Only then, so that the partition is the owner's.
      await eventually('it crashes', () => owner.crashedAt !== undefined)
      const other = start(folder, 'other')
      try {
        await eventually('all is done', async () => (await done()).length === 12 * slice)
        if (tells !== undefined) {
          owner.signal('SIGCONT')
          await eventually('it has found out', () => tells.test(owner.errors))
        }
        await becomeDue(100, 100 + slice)
        await eventually('the rest is done', async () => (await done()).length >= 13 * slice)
        const ids = await done()
        assert.equal(new Set(ids).size, ids.length, 'each once')
        await eventually('all are told', async () => (await told(broker)).size === 13 * slice)
        for (const process of tells === undefined ? [other] : [owner, other]) {
          process.signal('SIGTERM')
          assert.equal(await process.ended(), 0, process.errors)
        }
        for (const [id, headers] of await told(broker))
          assert.equal(headers.size, 1, `${id} is told under one id`)
      } catch (cause: unknown) {
        throw new Error(`They told:\n${owner.errors}\n\n${other.errors}`, { cause })
      } finally {
        await Promise.all([owner.kill(), other.kill()])
      }
    })
  })
}

async function inFolder(play: (folder: string, broker: Broker) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-schedule-'))
  const broker = embeddedBroker({ folder })
  try {
    await play(folder, broker)
  } finally {
    await broker.close()
    await rm(folder, { recursive: true })
  }
}

function start(folder: string, owner: string, crash?: Crash): CrashProcess {
  const settings: ScheduleSettings = { owner, folder, connectionString: address(), schema }
  const script = new URL('./schedule-process.ts', import.meta.url)
  return new CrashProcess(script, { args: [JSON.stringify(settings)], crash })
}

async function becomeDue(from: number, to: number): Promise<void> {
  await ask(`insert into ${schema}.due select generate_series($1::int, $2::int - 1)`, [from, to])
}

async function done(): Promise<readonly unknown[]> {
  return (await ask(`select id from ${schema}.done`)).map(({ id }) => id)
}

/** The headers `id` under which each was told. */
async function told(broker: Broker): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>()
  for (const { key, id } of await messagesOf(broker, reminders))
    found.set(key, (found.get(key) ?? new Set()).add(id))
  return found
}
