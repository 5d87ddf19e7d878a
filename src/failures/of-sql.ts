import type { Course } from './course.ts'

/**
 * By SQLSTATE or its class (the first two characters), of the standard and as PostgreSQL has them
 * (https://www.postgresql.org/docs/current/errcodes-appendix.html).
 */
const courses: Readonly<Record<string, Course>> = {
  '08': 'wait', // connection
  '22': 'dead-letter', // data
  '23': 'dead-letter', // integrity
  '23503': 'retry', // what it refers to may come yet
  '23505': 'retry', // another one was first: looked at anew, it is there
  '23P01': 'retry', // exclusion
  '25006': 'wait', // read-only: failing over
  '28': 'wait', // credentials: nobody's message
  '40': 'retry', // serialization failure, deadlock
  '42501': 'wait', // rights
  '53': 'wait', // resources: disk, memory, connections
  '55': 'retry', // locked, not in a state
  '57014': 'retry', // cancelled: a time limit
  '57': 'wait', // shutting down, starting
  '58': 'wait', // the system below it
  HY000: 'retry', // MySQL's word for everything else
  XX: 'wait', // its data are damaged
}

/** Errors of databases that carry an SQLSTATE: as `code` (pg, PGlite) or `sqlState` (mysql2). */
export function ofSql(error: object): Course | undefined {
  const { code, sqlState } = error as { readonly code?: unknown; readonly sqlState?: unknown }
  const state = isSqlState(sqlState) ? sqlState : code
  if (!isSqlState(state)) return undefined
  return courses[state] ?? courses[state.slice(0, 2)] ?? 'retry'
}

/** Five digits and capitals, with a digit: EPIPE is none. */
function isSqlState(code: unknown): code is string {
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code)
}
