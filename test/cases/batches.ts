import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { defineService, PolluxError, type Service, text, topic } from '../../src/index.ts'
import { postgresTransaction } from '../../src/sql/postgres-transaction.ts'
import { testRuntime } from '../../src/testing/index.ts'
import { kept } from '../engine/kept.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import type { OwnDatabase } from './own-sql.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 1 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })
const rows = 500
const bad = 250

/** The numbered cases about batches that are written in the unit's transaction, on a database. */
export function batchCases(name: string, database: () => OwnDatabase): void {
  for (const how of ['one-statement', 'one-by-one'] as const) {
    test(`case 44: one bad row of 500, written ${how}: the others are there once, in the order of their keys, and so are their outputs; ${name}`, async () => {
      const { store, ask, schema } = database()
      const table = `${schema}.case44_${how === 'one-by-one' ? 'single' : 'many'}`
      await ask(
        `create table ${table} (number serial, key text, value int check (value <> ${bad}), writer text)`,
      )
      const broker = kept(embeddedBroker())
      const first = await testRuntime(sink(table, how, 'first'), { broker, store: store() })
      await first.send(
        // The one behind the bad one has its key.
        ...Array.from({ length: rows }, (_, index) =>
          input.message({
            key: `k${index === bad + 1 ? bad % 50 : index % 50}`,
            value: `${index}`,
          }),
        ),
      )
      await assert.rejects(first.settled(), (error) => {
        assert.ok(PolluxError.is(error, 'POLLUX_HANDLER_FAILED'), String(error))
        assert.match(error.message, /input\/0\/250 failed: .*check/)
        return true
      })
      await first.stop().catch(() => {})
      assert.deepEqual(await written(), upTo(bad))

      await using second = await testRuntime(sink(table, how, 'second', bad), {
        broker,
        store: store(),
      })
      await second.settled()
      assert.deepEqual(
        await written(),
        upTo(rows).filter((value) => value !== bad),
      )
      const outputs = (await second.messages(output)).map(({ value }) => Number(value))
      assert.deepEqual(
        outputs,
        upTo(rows).filter((value) => value !== bad),
      )

      async function written(): Promise<readonly number[]> {
        const found = await ask(`select value from ${table} order by number`)
        return found.map(({ value }) => Number(value))
      }
    })
  }
}

function upTo(end: number): readonly number[] {
  return Array.from({ length: end }, (_, index) => index)
}

/** Writes each batch, and fails with the row that the table does not take; one that leaves `without` out does not. */
function sink(table: string, how: string, writer: string, without?: number): Service {
  return defineService(`case-44-${how}`, {
    ...stopsAtFailure,
    inputs: [input],
    outputs: [output],
    uses: { db: postgresTransaction },
    async handleMany(messages, { db }) {
      const good = messages.filter(({ value }) => Number(value) !== without)
      const insert = `insert into ${table} (key, value, writer)`
      if (how === 'one-statement')
        await db.query(
          `${insert} select key, value, $3 from unnest($1::text[], $2::int[]) as given (key, value)`,
          [good.map(({ key }) => key), good.map(({ value }) => Number(value)), writer],
        )
      else
        for (const { key, value } of good)
          await db.query(`${insert} values ($1, $2, $3)`, [key, Number(value), writer])
      return messages.map((message) => ({
        message,
        outputs: good.includes(message)
          ? output.message({ key: message.key, value: message.value })
          : [],
      }))
    },
  })
}
