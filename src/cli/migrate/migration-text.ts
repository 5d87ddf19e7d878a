import type { MigrationStep } from '../../ports/store.ts'
import { textTable } from '../text-table.ts'

/** Which tables are spoken of. */
export interface TablesPlace {
  /** The store's name. */
  readonly store: string
  readonly schema: string
}

/** The migrations that were taken, for people. */
export function stepsText(place: TablesPlace, steps: readonly MigrationStep[]): string {
  if (steps.length === 0) return `${nothingToDo(place)}\n`
  const rows = steps.map(({ number, name }) => [String(number), name])
  const table = textTable([{ heading: 'MIGRATION', align: 'right' }, { heading: 'NAME' }], rows)
  return `${named(place)} are up to date now. Taken:\n\n${table}`
}

/**
 * The SQL of migrations, as a person runs it: all of a migration or nothing of it. The statements stay byte for byte what
 * `migrate` would execute, as the text of a function is a part of it.
 */
export function sqlText(place: TablesPlace, steps: readonly MigrationStep[]): string {
  if (steps.length === 0) return `-- ${nothingToDo(place)}\n`
  const parts = steps.map(
    ({ number, name, statements }) =>
      `-- Migration ${number}: ${name}\nbegin;\n\n${statements.join(';\n\n')};\n\ncommit;\n`,
  )
  return `-- ${named(place)}\n\n${parts.join('\n')}`
}

/** What `--verify` found, for people. */
export function differencesText(place: TablesPlace, differences: readonly string[]): string {
  if (differences.length === 0) return `${named(place)} are as this version needs them.\n`
  const lines = differences.map((difference) => `- ${difference}\n`)
  return `${named(place)} are not as this version needs them:\n${lines.join('')}`
}

function nothingToDo(place: TablesPlace): string {
  return `${named(place)} are up to date: there is nothing to do.`
}

function named({ store, schema }: TablesPlace): string {
  return `The tables in schema ${schema} of ${store}`
}
