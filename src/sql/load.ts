import type { Loaded, Mark } from '../ports/store.ts'
import { byteaArray, int8, readArray, textArray } from './arrays.ts'
import { readBytes } from './rows.ts'
import type { SqlConnection } from './sql.ts'

/** The state of keys, and which marks are there, in one round trip. */
export async function load(
  connection: SqlConnection,
  schema: string,
  service: string,
  keys: readonly Buffer[],
  marks: readonly Pick<Mark, 'topic' | 'id'>[],
): Promise<Loaded> {
  if (keys.length + marks.length === 0) return { states: [], applied: [] }
  const [row] = await connection.read(`select * from ${schema}.pollux_load_1($1, $2, $3, $4)`, [
    service,
    byteaArray(keys),
    textArray(marks.map(({ topic }) => topic)),
    byteaArray(marks.map(({ id }) => id)),
  ])
  const [values, guards, versions, applied] = [
    read(row?.['out_values']),
    read(row?.['out_guards']),
    read(row?.['out_versions']),
    read(row?.['out_applied']),
  ]
  return {
    states: keys.map((_, index) => {
      const version = versions[index] ?? null
      return {
        value: values[index] ?? null,
        version: version === null ? 0 : int8(version),
        guard: guards[index]?.toString() ?? null,
      }
    }),
    applied: marks.map((_, index) => applied[index]?.[0] === 1),
  }
}

/** An aggregate of no rows is null. */
function read(array: unknown): (Buffer | null)[] {
  return array === null ? [] : readArray(readBytes(array))
}
