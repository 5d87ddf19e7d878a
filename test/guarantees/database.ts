import assert from 'node:assert/strict'
import type { LogRange } from '../../src/ports/broker.ts'
import type { MigratableStore } from '../../src/ports/store.ts'
import { postgres } from '../../src/postgres/index.ts'
import { decodeOutputs } from '../../src/sql/stored-outputs.ts'
import { address, ask } from '../postgres/server.ts'
import { type Effect, effectsIn } from './effects.ts'

/** A schema of one test, which is named as its service, looked at past the store. */
export class Database {
  /** What members are given. */
  readonly store: { readonly connectionString: string; readonly schema: string }
  readonly #name: string

  constructor(name: string) {
    this.#name = name
    this.store = { connectionString: address(), schema: name }
  }

  async open(): Promise<void> {
    const store: MigratableStore = postgres(this.store)
    await store.migrate()
    await store.close()
    // Without a key: what is written twice is there twice.
    await ask(
      `create table "${this.#name}".effects (number serial, key text, value text, owner text, started int8,
        transaction xid8 default pg_current_xact_id())`,
    )
    await ask(`create table "${this.#name}".counts (key text primary key, number int4)`)
  }

  async drop(): Promise<void> {
    await ask(`drop schema if exists "${this.#name}" cascade`)
  }

  /** What handlers have written into their state. */
  readonly states = async (): Promise<readonly Effect[]> => {
    const rows = await ask(
      `select convert_from(key, 'UTF8') as key, convert_from(value, 'UTF8') as value
        from "${this.#name}".pollux_state`,
    )
    return rows.flatMap(({ key, value }) => effectsIn(String(key), String(value)))
  }

  /** What handlers have written into their own table. */
  readonly rows = async (): Promise<readonly Effect[]> => {
    const rows = await ask(`select * from "${this.#name}".effects order by number`)
    return rows.map(({ key, value, owner, started }) => {
      return {
        key: String(key),
        value: String(value),
        owner: String(owner),
        started: Number(started),
      }
    })
  }

  /** How many handlers a transaction has whose effects are there. */
  async effectsOf(transaction: string): Promise<number> {
    const rows = await ask(
      `select 1 from "${this.#name}".effects where transaction = $1::text::xid8`,
      [transaction],
    )
    return rows.length
  }

  /** The keys' own counts. */
  async counts(): Promise<ReadonlyMap<string, number>> {
    const rows = await ask(`select * from "${this.#name}".counts`)
    return new Map(rows.map(({ key, number }) => [String(key), Number(number)]))
  }

  /** The events whose outputs are stored and not known as acknowledged. */
  readonly stored = async (): Promise<ReadonlySet<string>> => {
    const rows = await ask(`select records, outputs from "${this.#name}".pollux_outbox`)
    const records = rows.flatMap(({ records: count, outputs }) =>
      decodeOutputs(outputs as Buffer, Number(count)),
    )
    return new Set(records.map(({ value }) => `${value}`))
  }

  /** The ledger has come to the end of the logs, and nothing waits to be published. */
  async checkSettled(ranges: readonly LogRange[]): Promise<void> {
    const ledger = await ask(
      `select topic, partition, next, settled::text as settled from "${this.#name}".pollux_ledger`,
    )
    const found = new Map(
      ledger.map(({ topic, partition, next }) => [`${topic}/${partition}`, Number(next)]),
    )
    for (const { topic, partition, latest } of ranges) {
      const place = `${topic}/${partition}`
      if (latest > 0) assert.equal(found.get(place), latest, `the ledger's next of ${place}`)
    }
    for (const { settled } of ledger) assert.equal(settled, '{}')
    const outbox = await ask(
      `select topic, partition, unit, stored_at from "${this.#name}".pollux_outbox`,
    )
    assert.deepEqual(outbox, [], 'nothing is left in the outbox')
  }
}
