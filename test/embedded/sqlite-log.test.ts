import assert from 'node:assert/strict'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { type EmbeddedBrokerOptions, embeddedBroker } from '../../src/embedded/index.ts'
import type { Broker, OutgoingRecord } from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import { within } from '../../src/testing/eventually.ts'

const opened: Broker[] = []

/** A broker that is closed after the test, whatever became of it. */
function open(options: EmbeddedBrokerOptions): Broker {
  const broker = embeddedBroker(options)
  opened.push(broker)
  return broker
}

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-sqlite-'))
  try {
    await test(folder)
  } finally {
    await Promise.allSettled(opened.splice(0).map((broker) => broker.close()))
    await rm(folder, { recursive: true })
  }
}

function change(folder: string, sql: string): void {
  const database = new DatabaseSync(join(folder, 'broker.sqlite'))
  database.exec(sql)
  database.close()
}

function record(text: string, fields: Partial<OutgoingRecord> = {}): OutgoingRecord {
  return {
    topic: 't',
    partition: 0,
    key: null,
    value: Buffer.from(text),
    headers: [],
    timestamp: undefined,
    ...fields,
  }
}

/** A folder with topic `t` of one partition and one record. */
async function prepare(folder: string): Promise<void> {
  const broker = open({ folder })
  await broker.admin.createTopics([{ name: 't', partitions: 1 }])
  await (await broker.producer()).send([
    record('a', { headers: [{ name: 'n', value: Buffer.from('1') }] }),
  ])
  await broker.close()
}

describe('a folder', () => {
  it('keeps topics, records, groups and offsets over a restart, and makes missing folders', async () => {
    await inFolder(async (parent) => {
      const folder = join(parent, 'some', 'where')
      await prepare(folder)
      const listener = { assigned: async () => [], revoked: async () => {}, lost: () => {} }
      const first = open({ folder })
      const subscription = { group: 'g', topics: ['t'], start: 'earliest', logger: silent } as const
      const member = await first.join(subscription, listener)
      assert.equal((await member.poll(10)).length, 1)
      await member.commit([{ topic: 't', partition: 0, offset: 1 }])
      await first.close()
      const second = open({ folder })
      assert.deepEqual(await second.admin.topics(), [{ name: 't', partitions: 1 }])
      assert.deepEqual(await second.admin.ranges(['t']), [
        { topic: 't', partition: 0, earliest: 0, latest: 1 },
      ])
      assert.deepEqual(await second.admin.group('g'), {
        group: 'g',
        state: 'Empty',
        members: [],
        offsets: [{ topic: 't', partition: 0, offset: 1 }],
      })
      await second.close()
    })
  })

  it('opens at once in several connections, before and after its tables are there', async () => {
    await inFolder(async (folder) => {
      const brokers = Array.from({ length: 5 }, () => open({ folder }))
      await Promise.all(brokers.map((broker) => broker.connect()))
      await Promise.all(
        brokers.map((broker) => broker.admin.createTopics([{ name: 't', partitions: 3 }])),
      )
      for (const broker of brokers)
        assert.deepEqual(await broker.admin.topics(), [{ name: 't', partitions: 3 }])
      await Promise.all(brokers.map((broker) => broker.close()))
    })
  })

  it('of a newer version is refused with both versions', async () => {
    await inFolder(async (folder) => {
      await prepare(folder)
      change(folder, 'pragma user_version = 99')
      await assert.rejects(open({ folder }).connect(), {
        code: 'POLLUX_FOLDER_INVALID',
        message:
          /Expected a log of format 2\. Found format 99\. Use the version of Pollux that wrote it/,
      })
    })
  })

  it('with somebody else’s database is refused and left as it was', async () => {
    await inFolder(async (folder) => {
      change(folder, 'create table theirs (a)')
      await assert.rejects(open({ folder }).connect(), {
        code: 'POLLUX_FOLDER_INVALID',
        message: /a database that Pollux did not make/,
      })
      change(folder, 'insert into theirs values (1)')
    })
  })

  it('with bytes that are no database is refused', async () => {
    await inFolder(async (folder) => {
      await writeFile(join(folder, 'broker.sqlite'), 'garbage '.repeat(2_000))
      await assert.rejects(open({ folder }).connect(), {
        code: 'POLLUX_FOLDER_INVALID',
        message: /broker\.sqlite is damaged.*Move the folder away/,
      })
    })
  })

  it('whose file was cut short, or whose tables are gone, is refused when that is found', async () => {
    await inFolder(async (folder) => {
      await prepare(folder)
      await truncate(join(folder, 'broker.sqlite'), 6_000)
      const broker = open({ folder })
      await assert.rejects(broker.admin.ranges(['t']), { code: 'POLLUX_FOLDER_INVALID' })
      await broker.close()
    })
    await inFolder(async (folder) => {
      await prepare(folder)
      change(folder, "update records_1 set headers = x'ff'")
      const broker = open({ folder })
      const reader = await broker.reader([{ topic: 't', partition: 0, offset: 0 }])
      await assert.rejects(reader.poll(1), {
        code: 'POLLUX_FOLDER_INVALID',
        message: /headers are cut off/,
      })
      await broker.close()
    })
  })

  it('that is damaged under a member is told by its poll and by close, and ends no process', async () => {
    await inFolder(async (folder) => {
      await prepare(folder)
      const broker = open({ folder })
      const member = await broker.join(
        { group: 'g', topics: ['t'], start: 'earliest', logger: silent },
        { assigned: async () => [], revoked: async () => {}, lost: () => {} },
      )
      assert.equal((await member.poll(10)).length, 1)
      change(folder, "update groups set state = '{', version = version + 1")
      await assert.rejects(member.poll(10), { code: 'POLLUX_FOLDER_INVALID' })
      await assert.rejects(broker.close(), { code: 'POLLUX_FOLDER_INVALID' })
    })
  })

  it('that could not be opened is tried again by the next call', async () => {
    await inFolder(async (folder) => {
      const file = join(folder, 'log')
      await writeFile(file, '')
      const broker = open({ folder: file })
      await assert.rejects(broker.connect(), { code: 'POLLUX_FOLDER_INVALID' })
      await rm(file)
      await broker.connect()
      assert.deepEqual(await broker.admin.topics(), [])
      await broker.close()
    })
  })

  it('that is a file is refused', async () => {
    await inFolder(async (folder) => {
      const file = join(folder, 'file')
      await writeFile(file, '')
      await assert.rejects(open({ folder: file }).connect(), {
        code: 'POLLUX_FOLDER_INVALID',
        message: /a folder that this user may write to/,
      })
    })
  })

  it('case 55: an offset above 2^53 - 1 is refused instead of rounded', async () => {
    await inFolder(async (folder) => {
      await prepare(folder)
      change(folder, 'update partitions set latest = 9007199254740991')
      const broker = open({ folder })
      const producer = await broker.producer()
      await assert.rejects(producer.send([record('b')]), { code: 'POLLUX_OFFSET_UNSAFE' })
      await broker.close()
      change(folder, 'insert into records_1 values (9007199254740993, 0, null, null, null)')
      const again = open({ folder })
      const reader = await again.reader([{ topic: 't', partition: 0, offset: 1 }])
      await assert.rejects(reader.poll(1), { code: 'POLLUX_OFFSET_UNSAFE' })
      await again.close()
    })
  })

  it('a send that fails leaves nothing of itself, and the sends beside it are written', async () => {
    await inFolder(async (folder) => {
      await prepare(folder)
      const setup = open({ folder })
      await setup.admin.createTopics([{ name: 'full', partitions: 1 }])
      await setup.close()
      change(folder, "update partitions set latest = 9007199254740991 where topic = 'full'")
      const broker = open({ folder })
      const producer = await broker.producer()
      const results = await Promise.allSettled([
        producer.send([record('b')]),
        producer.send([record('c'), record('d', { topic: 'full' })]),
        producer.send([record('e')]),
      ])
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      const reader = await broker.reader([{ topic: 't', partition: 0, offset: 0 }])
      assert.deepEqual(
        (await reader.poll(10)).map(({ value }) => String(value)),
        ['a', 'b', 'e'],
      )
      await broker.close()
    })
  })

  it('a pending poll is woken by what another connection writes', async () => {
    await inFolder(async (folder) => {
      await prepare(folder)
      const [reading, writing] = [open({ folder }), open({ folder })]
      const producer = await writing.producer()
      const reader = await reading.reader([{ topic: 't', partition: 0, offset: 1 }])
      for (let round = 0; round < 5; round += 1) {
        const pending = reader.poll(1)
        await producer.send([record(`${round}`)])
        const records = await within('poll', pending, 5_000)
        assert.deepEqual(
          records.map(({ value }) => String(value)),
          [`${round}`],
        )
      }
      await Promise.all([reading.close(), writing.close()])
    })
  })

  it('a writer that holds the file is waited for, without holding up this process', async () => {
    await inFolder(async (folder) => {
      await prepare(folder)
      const broker = open({ folder })
      const producer = await broker.producer()
      const other = new DatabaseSync(join(folder, 'broker.sqlite'))
      other.exec('begin immediate')
      let isSent = false
      const sent = producer.send([record('b')]).then(() => {
        isSent = true
      })
      let turns = 0
      const end = performance.now() + 200
      while (performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        turns += 1
      }
      assert.equal(isSent, false)
      assert.ok(turns > 5, `${turns} turns`)
      other.exec('rollback')
      other.close()
      await within('send', sent, 5_000)
      await broker.close()
    })
  })
})
