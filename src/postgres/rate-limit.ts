import { checkMethods, checkObject, Problems, readOptions, text } from '../options.ts'
import type { RateLimiter } from '../ports/rate-limiter.ts'
import { type Rate, type RateOptions, rateOptions, spacingOf } from '../rate.ts'
import { schemaOption } from '../sql/schema-option.ts'
import { type Queryable, quoted, rowsOf } from './queryable.ts'

/** What `postgresRateLimit` takes. */
export interface PostgresRateLimitOptions extends RateOptions {
  /** What runs SQL, such as a pool of `pg`; not a transaction, in which others would wait for its end. */
  readonly db: Queryable
  /** What is limited. All who give the same name share a limit, and should give the same numbers. */
  readonly name: string
  /** Default `pollux`; made with its table when missing. */
  readonly schema?: string
}

// A table or its schema is not there.
const missing = ['42P01', '3F000']

/**
 * A rate limit that processes share by a row in PostgreSQL. A turn is one statement, by the database's clock.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function postgresRateLimit(options: PostgresRateLimitOptions): RateLimiter {
  checkObject('postgresRateLimit()', options, '{ db, name, calls, per }')
  const { db, ...plain } = options
  const problems = new Problems()
  checkMethods('db', db, ['query'], 'a pool of the package pg', problems)
  const { name, schema, ...rate } = readOptions<Rate & { name: string; schema: string }>(
    { ...rateOptions, schema: schemaOption, name: nameOption },
    plain,
    problems,
    ['db'],
  )
  if (plain.name === undefined) problems.add('name: expected what is limited, found nothing')
  problems.throwIfAny('The options of postgresRateLimit() are wrong')
  const { interval, tolerance } = spacingOf(rate)
  const table = quoted(schema, 'pollux_rate_limit')
  const reserve = async (): Promise<number> => {
    const [row] = await rowsOf<{ wait: string | number }>(db, turnIn(table), [
      name,
      interval,
      tolerance,
    ])
    return Math.max(0, Number(row?.wait))
  }
  return {
    reserve: () =>
      reserve().catch(async (error: unknown) => {
        if (!missing.includes((error as { code?: string }).code ?? '')) throw error
        await rowsOf(db, creationOf(quoted(schema), table), [])
        return await reserve()
      }),
  }
}

const nameOption = text({ default: '', help: 'What is limited.' })

function turnIn(table: string): string {
  return `
    insert into ${table} as bucket (name, full_at)
      values ($1::text, clock_timestamp() + $2::float8 * interval '1 millisecond')
    on conflict (name) do update
      set full_at = greatest(bucket.full_at, clock_timestamp()) + $2::float8 * interval '1 millisecond'
    returning extract(epoch from full_at - clock_timestamp())::float8 * 1000 - $3::float8 as wait`
}

/** One statement, under a lock: two that make the same table at once would fail. */
function creationOf(schema: string, table: string): string {
  return `
    do $$ begin
      perform pg_advisory_xact_lock(hashtext('pollux_rate_limit'));
      create schema if not exists ${schema};
      create table if not exists ${table} (name text primary key, full_at timestamptz not null);
    end $$`
}
