import type { Option } from '../options.ts'

// PostgreSQL would cut longer names short, and two schemas would be one; `pg_` is its own.
const schemaName = /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/

/** The schema of a store's tables. */
export const schemaOption: Option<string> = {
  help:
    'The schema of the tables; made when it is missing. Several sets of services that know nothing of each other can ' +
    'share a database under schemas of their own.',
  default: 'pollux',
  shownDefault: 'pollux',
  expected: '1 to 63 of the characters a-z 0-9 _, not beginning with a digit or pg_',
  read: (value) => (typeof value === 'string' && schemaName.test(value) ? value : undefined),
}
