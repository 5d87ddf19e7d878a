import type { Target } from '../../../src/index.ts'

/** A database that sidecars are tried on. */
export interface World {
  readonly name: string
  /** What columns are called there: a key, texts, an exact number, a whole number of 8 bytes, bytes, JSON, a time. */
  readonly types: Readonly<
    Record<'text' | 'shortText' | 'numeric' | 'whole' | 'bytes' | 'json' | 'time', string>
  >
  /** Whether versions are noted beside the table unless it is said otherwise. */
  readonly notes: boolean
  /** Makes a table of these columns, and gives the name that targets know it by. */
  create(definition: string): Promise<string>
  target(table: string, options?: { readonly isNoting?: boolean }): Target
  /** The rows in the order of their first column; each value as text, null as null. */
  rows(table: string, columns: readonly string[]): Promise<readonly (readonly (string | null)[])[]>
  /** Takes values of which column `n` is negative as data errors. */
  readonly check: string
  run(statement: string): Promise<void>
  quote(name: string): string
}
