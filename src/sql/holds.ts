import type { HeldRow } from '../ports/store.ts'
import { int4Array, int8Array, textArray } from './arrays.ts'
import { readInteger } from './rows.ts'
import type { Sql } from './sql.ts'

/** Whether the ledger says the same of each row. */
export async function holds(
  sql: Sql,
  schema: string,
  service: string,
  rows: readonly HeldRow[],
): Promise<readonly boolean[]> {
  const found = await sql.query(
    `select given.place
    from unnest($2::text[], $3::int4[], $4::int8[], $5::int8[]) with ordinality
      as given (topic, partition, epoch, unit, place)
    cross join lateral (
      select 1 from ${schema}.pollux_ledger as ledger
      where ledger.service = $1 and ledger.topic = given.topic
        and ledger.partition = given.partition
        and ledger.epoch = given.epoch and ledger.unit = given.unit
      limit 1
    ) as held`,
    [
      service,
      textArray(rows.map(({ topic }) => topic)),
      int4Array(rows.map(({ partition }) => partition)),
      int8Array(rows.map(({ epoch }) => epoch)),
      int8Array(rows.map(({ unit }) => unit)),
    ],
  )
  const held = new Set(found.map(({ place }) => readInteger(place)))
  return rows.map((_, index) => held.has(index + 1))
}
