import type { Capability } from '../../capability.ts'
import { shown } from '../../errors.ts'
import type { Problems } from '../../options.ts'
import { ownColumns } from './columns.ts'
import type { AnyFact } from './fact.ts'

// PostgreSQL cuts names off after 63 bytes, and ours have endings such as `_payload`.
const legalName = /^[A-Za-z_][A-Za-z0-9_]{0,49}$/
const legalTable = /^([A-Za-z_][A-Za-z0-9_]{0,49}\.)?[A-Za-z_][A-Za-z0-9_]{0,49}$/
const policies = ['ignore', 'dead-letter', 'reopen']

/** Notes what is wrong with a definition beside its plain options. */
export function checkGate(given: object, problems: Problems): void {
  const { facts, table, db, key, open, late, expire, timeout } = given as Readonly<
    Record<string, unknown>
  >
  checkFacts(facts, problems)
  if (typeof table !== 'string' || !legalTable.test(table))
    problems.add(
      `table: expected a name such as 'book_readiness' or 'public.book_readiness', found ${shown(table)}`,
    )
  if (typeof (db as Partial<Capability<unknown>> | undefined)?.name !== 'string')
    problems.add(`db: expected postgresTransaction of pollux/postgres, found ${shown(db)}`)
  if (typeof open !== 'function') problems.add(`open: expected a function, found ${shown(open)}`)
  for (const [name, optional] of Object.entries({ key, expire })) {
    if (optional !== undefined && typeof optional !== 'function')
      problems.add(`${name}: expected a function, found ${shown(optional)}`)
  }
  if (expire !== undefined && timeout === undefined)
    problems.add('timeout: expected a duration with expire, which is called at its end; found none')
  if (late !== undefined && typeof late !== 'function' && !policies.includes(late as string))
    problems.add(
      `late: expected 'ignore', 'dead-letter', 'reopen' or a function, found ${shown(late)}`,
    )
}

function checkFacts(given: unknown, problems: Problems): void {
  const facts = typeof given === 'object' && given !== null ? Object.entries(given) : []
  if (facts.length === 0)
    return problems.add(
      `facts: expected an object such as { paid: fact(payments) }, found ${shown(given)}`,
    )
  const columns = new Set<string>(ownColumns)
  for (const [name, one] of facts as [string, Partial<AnyFact> | undefined][]) {
    if (!legalName.test(name))
      problems.add(`facts.${name}: expected a name of a-z A-Z 0-9 _, at most 50, for a column`)
    if (typeof one?.topic?.name !== 'string')
      problems.add(`facts.${name}: expected one made by fact(), found ${shown(one)}`)
    for (const column of one?.keep === undefined ? [name] : [name, `${name}_payload`]) {
      if (columns.has(column))
        problems.add(`facts.${name}: the column '${column}' is there already`)
      columns.add(column)
    }
  }
}
