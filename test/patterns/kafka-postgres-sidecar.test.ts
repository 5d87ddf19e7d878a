import { test } from 'node:test'
import { kafka } from '../../src/kafka/index.ts'
import { brokers } from '../guarantees/on-kafka.ts'
import { seed } from '../guarantees/scene.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { liveAndReplay } from './sidecar/lives-scene.ts'

test(`two members killed again and again, batches refused in part, all replayed from the start: tables are the straight fold of the log (POLLUX_SEED=${seed})`, async (t) => {
  const schema = freshName()
  await ask(`create schema ${schema}`)
  t.after(() => ask(`drop schema ${schema} cascade`))
  for (const table of ['plain', 'versioned', 'noted'])
    await ask(`create table ${schema}.${table} (id text primary key, a text, b text)`)
  await ask(`alter table ${schema}.versioned add revision int8`)
  await ask(
    `create function ${schema}.refuse() returns trigger language plpgsql as $$ begin
      if abs(hashtext(concat(new.id, new.a, new.b, pg_backend_pid()))) % 70 = 0 then raise exception 'hindered'; end if;
      return new;
    end $$`,
  )
  const broker = kafka({ brokers })
  t.after(() => broker.close())
  const members = ['a', 'b'].map((member) => ({
    name: schema,
    broker: { brokers, instanceId: `${schema}-${member}` },
    database: 'postgres' as const,
    connectionString: address(),
    schema,
  }))
  await liveAndReplay(
    {
      members,
      broker,
      ask,
      async hinder(table) {
        await ask(
          `create trigger hinder before insert or update on ${schema}.${table}
            for each row execute function ${schema}.refuse()`,
        )
        return async () => void (await ask(`drop trigger hinder on ${schema}.${table}`))
      },
    },
    seed,
  )
})
