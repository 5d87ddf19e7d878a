import type { Loaded, Mark } from '../ports/store.ts'
import { byteaArray, readArray, readBooleanArray, readInt8Array, textArray } from './arrays.ts'
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
  const values = read(row?.['out_values'], readArray)
  const guards = read(row?.['out_guards'], readArray)
  const versions = read(row?.['out_versions'], readInt8Array)
  const applied = read(row?.['out_applied'], readBooleanArray)
  return {
    states: keys.map((_, index) => ({
      value: values[index] ?? null,
      version: versions[index] ?? 0,
      guard: guards[index]?.toString() ?? null,
    })),
    applied: marks.map((_, index) => applied[index] === true),
  }
}

/** An aggregate of no rows is null. */
function read<T>(array: unknown, elements: (bytes: Buffer) => T[]): T[] {
  return array === null ? [] : elements(readBytes(array))
}
