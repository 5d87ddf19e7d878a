import { shown } from '../errors.ts'
import { duration, integer, type Option, type Problems } from '../options.ts'

/** Options that targets in databases have in common. */
export const keepDeleted: Option<number> = duration({
  default: '7d',
  min: '1m',
  help:
    'How long the versions of deleted rows are noted. Too short: an older message that comes later than that brings the ' +
    'row back. Too long: the notes take room.',
})

export const poolSize: Option<number> = integer({
  default: 3,
  min: 1,
  max: 1_000,
  help:
    'How many connections are opened at most; a batch takes one. Too low: batches wait for each other. More than the ' +
    'concurrency of the sidecar are of no use.',
})

/** Notes what is no name of a table, with or without that of its schema or database. */
export function checkName(option: string, given: unknown, problems: Problems): void {
  if (typeof given === 'string' && /^[^.\0]+(\.[^.\0]+)?$/.test(given)) return
  problems.add(`${option}: expected a table as 'schema.table' or 'table', found ${shown(given)}`)
}
