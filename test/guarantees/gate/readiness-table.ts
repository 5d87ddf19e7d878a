import assert from 'node:assert/strict'
import { GateTable } from '../../../src/patterns/gate/table.ts'
import { ask } from '../../postgres/server.ts'

const facts = [
  { name: 'text', isKept: false },
  { name: 'cover', isKept: false },
  { name: 'price', isKept: true },
]

/** The gate's table, with a trigger that notes each opening: `opened_at` alone does not tell whether there was another one. */
export class ReadinessTable {
  readonly #name: string

  constructor(schema: string) {
    this.#name = `${schema}.book_readiness`
  }

  async make(): Promise<void> {
    const { statement: table, indexes } = new GateTable(this.#name, facts).shape
    const statements = [
      table,
      ...indexes.map(({ statement }) => statement),
      `create table ${this.#name}_openings (key text, opened_at timestamptz)`,
      `create function ${this.#name}_opened() returns trigger language plpgsql as $$ begin
        if new.opened_at is not null and (tg_op = 'INSERT' or new.opened_at is distinct from old.opened_at) then
          insert into ${this.#name}_openings values (new.key, new.opened_at);
        end if;
        return null;
      end $$`,
      `create trigger opened after insert or update on ${this.#name}
        for each row execute function ${this.#name}_opened()`,
    ]
    for (const statement of statements) await ask(statement)
  }

  /** Each book has its row with all facts, and was opened once. */
  async check(books: number): Promise<void> {
    const [rows] = await ask(
      `select count(*)::int as rows, count(opened_at)::int as opened,
        count(*) filter (where (text, cover, price) is not null)::int as complete,
        count(*) filter (where price_payload::text = substr(key, 6))::int as priced from ${this.#name}`,
    )
    assert.deepEqual(rows, { rows: books, opened: books, complete: books, priced: books })
    const [openings] = await ask(
      `select count(*)::int as openings, count(distinct key)::int as books from ${this.#name}_openings`,
    )
    assert.deepEqual(openings, { openings: books, books })
  }
}
