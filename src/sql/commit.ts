import type { CommitResult, LedgerChange, Mark, StateChange, Unit } from '../ports/store.ts'
import { byteaArray, int4Array, int8Array, textArray } from './arrays.ts'
import { raised } from './commit-function.ts'
import { rangesArray, readInteger } from './rows.ts'
import type { Sql } from './sql.ts'
import { sqlState } from './sql-errors.ts'
import { encodeOutputs } from './stored-outputs.ts'

/** Stores a unit, in one round trip. */
export async function commit(sql: Sql, schema: string, unit: Unit): Promise<CommitResult> {
  const params = commitParams(unit)
  const places = params.map((_, index) => `$${index + 1}`)
  try {
    const [row] = await sql.call(
      `select ${schema}.pollux_commit_1(${places.join(', ')}) as version`,
      params,
    )
    const version = readInteger(row?.['version'])
    const versions = unit.states.map((state) => (isRemoved(state) ? 0 : version))
    return { outcome: 'committed', versions }
  } catch (error) {
    if (sqlState(error) === raised.fenced) return { outcome: 'fenced' }
    if (sqlState(error) === raised.conflict || isMarkThere(error)) return { outcome: 'conflict' }
    throw error
  }
}

function isRemoved({ value, guard }: StateChange): boolean {
  return value === null && guard === null
}

function isMarkThere(error: unknown): boolean {
  const { table } = error as { readonly table?: unknown }
  return sqlState(error) === '23505' && table === 'pollux_inbox'
}

/** As `pollux_commit_1` takes them. */
function commitParams({ service, marks, states, ledger }: Unit): unknown[] {
  return [
    service,
    textArray(ledger.map(({ topic }) => topic)),
    int4Array(ledger.map(({ partition }) => partition)),
    int8Array(ledger.map(({ epoch }) => epoch)),
    int8Array(ledger.map(({ unit }) => unit)),
    int8Array(ledger.map(({ next }) => next)),
    rangesArray(ledger.map(({ settled }) => settled)),
    ...acknowledgedParams(ledger),
    ...outputParams(ledger),
    ...(marks.length === 0 ? [null, null, null, null] : markParams(marks)),
    ...(states.length === 0 ? [null, null, null, null, null] : stateParams(states)),
  ]
}

function acknowledgedParams(ledger: readonly LedgerChange[]): unknown[] {
  const isAny = ledger.some(({ acknowledged }) => acknowledged !== undefined)
  return [isAny ? int8Array(ledger.map(({ acknowledged }) => acknowledged ?? null)) : null]
}

function outputParams(ledger: readonly LedgerChange[]): unknown[] {
  if (!ledger.some(({ outputs }) => outputs.length > 0)) return [null, null]
  return [
    int4Array(ledger.map(({ outputs }) => outputs.length)),
    byteaArray(ledger.map(({ outputs }) => (outputs.length === 0 ? null : encodeOutputs(outputs)))),
  ]
}

function markParams(marks: readonly Mark[]): unknown[] {
  return [
    textArray(marks.map(({ topic }) => topic)),
    byteaArray(marks.map(({ id }) => id)),
    int4Array(marks.map(({ partition }) => partition)),
    int8Array(marks.map(({ offset }) => offset)),
  ]
}

function stateParams(states: readonly StateChange[]): unknown[] {
  const removed = states.filter(isRemoved)
  return [
    byteaArray(states.map(({ key }) => key)),
    byteaArray(states.map(({ value }) => value)),
    textArray(states.map(({ guard }) => guard)),
    int8Array(states.map(({ version }) => version)),
    removed.length === 0 ? null : byteaArray(removed.map(({ key }) => key)),
  ]
}
