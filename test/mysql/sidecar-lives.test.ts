import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { seed } from '../guarantees/scene.ts'
import { liveAndReplay } from '../patterns/sidecar/lives-scene.ts'
import { address, ask, freshName } from './server.ts'

test(`killed again and again, batches refused in part, all replayed from the start: tables are the straight fold of the log (POLLUX_SEED=${seed})`, async (t) => {
  const schema = freshName()
  await ask(`create database ${schema} character set utf8mb4`)
  t.after(() => ask(`drop database ${schema}`))
  const folder = await mkdtemp(join(tmpdir(), 'pollux-sidecar-'))
  const broker = embeddedBroker({ folder })
  t.after(async () => {
    await broker.close()
    await rm(folder, { recursive: true })
  })
  const run = (statement: string) => ask(statement, schema)
  for (const table of ['plain', 'versioned', 'noted'])
    await run(`create table ${table} (id varchar(40) primary key, a text, b text)`)
  await run('alter table versioned add revision bigint')
  const connectionString = address(schema)
  const member = {
    name: schema,
    broker: { folder },
    database: 'mysql',
    connectionString,
    schema,
  } as const
  await liveAndReplay(
    {
      members: [member],
      broker,
      ask: run,
      async hinder(table) {
        for (const change of ['insert', 'update'])
          await run(
            `create trigger ${table}_${change} before ${change} on ${table} for each row
              if crc32(concat(new.id, coalesce(new.a, ''), coalesce(new.b, ''), connection_id())) % 70 = 0
                then signal sqlstate '45000' set message_text = 'hindered'; end if`,
          )
        return async () => {
          for (const change of ['insert', 'update']) await run(`drop trigger ${table}_${change}`)
        }
      },
    },
    seed,
  )
})
