import type { CommitResult, Unit } from '../ports/store.ts'
import { byteaArray, int4Array, int8Array, textArray } from './arrays.ts'
import { raised } from './commit-function.ts'
import { rangesArray, readInteger } from './rows.ts'
import type { Sql } from './sql.ts'
import { sqlState } from './sql-errors.ts'
import { encodeOutputs } from './stored-outputs.ts'

/** Stores a unit, in one round trip. */
export async function commit(sql: Sql, schema: string, unit: Unit): Promise<CommitResult> {
  try {
    const [row] = await sql.call(
      `select ${schema}.pollux_commit_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) as version`,
      commitParams(unit),
    )
    const version = readInteger(row?.['version'])
    const versions = unit.states.map(({ value, guard }) =>
      value === null && guard === null ? 0 : version,
    )
    return { outcome: 'committed', versions }
  } catch (error) {
    if (sqlState(error) === raised.fenced) return { outcome: 'fenced' }
    if (sqlState(error) === raised.conflict) return { outcome: 'conflict' }
    throw error
  }
}

function commitParams({ service, marks, states, ledger }: Unit): unknown[] {
  return [
    service,
    textArray(ledger.map(({ topic }) => topic)),
    int4Array(ledger.map(({ partition }) => partition)),
    int8Array(ledger.map(({ epoch }) => epoch)),
    int8Array(ledger.map(({ unit }) => unit)),
    int8Array(ledger.map(({ next }) => next)),
    rangesArray(ledger.map(({ settled }) => settled)),
    int8Array(ledger.map(({ acknowledged }) => acknowledged ?? null)),
    int4Array(ledger.map(({ outputs }) => outputs.length)),
    byteaArray(ledger.map(({ outputs }) => (outputs.length === 0 ? null : encodeOutputs(outputs)))),
    textArray(marks.map(({ topic }) => topic)),
    byteaArray(marks.map(({ id }) => id)),
    int4Array(marks.map(({ partition }) => partition)),
    int8Array(marks.map(({ offset }) => offset)),
    byteaArray(states.map(({ key }) => key)),
    byteaArray(states.map(({ value }) => value)),
    textArray(states.map(({ guard }) => guard)),
    int8Array(states.map(({ version }) => version)),
  ]
}
