import { acknowledgeFunction } from './acknowledge-function.ts'
import { commitFunction } from './commit-function.ts'
import { acquireFunction, forgetFunction, loadFunction } from './functions.ts'
import { tables } from './tables.ts'

/**
 * One step of the tables' history. Never changed once released: the next change is a new step at
 * the end.
 */
export interface Migration {
  readonly number: number
  /** Without quotes. */
  readonly name: string
  /** The step that a program must know to work with the tables as they are after this one. */
  readonly needed: number
  /** `schema` is a quoted identifier. */
  statements(schema: string): readonly string[]
}

/**
 * All steps, in order. They live in TypeScript, not in .sql files, so that the compiler alone makes
 * the package.
 *
 * Programs of several versions run side by side on the same tables. So a function is never changed:
 * a later step adds one with a higher number at the end of its name, and a much later one removes
 * the old.
 */
export const migrations: readonly Migration[] = [
  {
    number: 1,
    name: 'ledger, state, inbox and outbox',
    needed: 1,
    statements: (schema) => [
      ...tables(schema),
      acquireFunction(schema),
      loadFunction(schema),
      acknowledgeFunction(schema),
      commitFunction(schema),
      forgetFunction(schema),
    ],
  },
]
