import type { Duration } from '../duration.ts'
import { PolluxError, shown } from '../errors.ts'
import {
  checkObject,
  duration,
  type OptionTable,
  oneOf,
  Problems,
  readOptions,
} from '../options.ts'
import type { RowChange, RowShape, Rows, Target } from '../ports/target.ts'
import { OpenOnce } from '../rows/open-once.ts'
import { keepDeleted } from '../rows/target-options.ts'
import { CacheArguments, type CacheForm } from './cache-arguments.ts'
import { RedisLink } from './redis-link.ts'

/** What `redisCache` takes; `docs/patterns/sidecar.md` describes it with examples. */
export interface RedisCacheOptions {
  /** Where the server is, as `redis://user:password@host:port/0`; `rediss:` with TLS. */
  readonly url: string
  /** Stands in front of each key, e.g. `product:`. */
  readonly prefix: string
  readonly as?: CacheForm
  /** How long an entry is kept after its last change. Default: for ever. */
  readonly ttl?: Duration
  readonly keepDeleted?: Duration
  readonly connectTimeout?: Duration
  readonly commandTimeout?: Duration
}

/** The plain options as read: durations in milliseconds. */
export interface RedisCachePlainOptions {
  readonly as: CacheForm
  readonly ttl: number
  readonly keepDeleted: number
  readonly connectTimeout: number
  readonly commandTimeout: number
}

export const redisCacheOptions: OptionTable<RedisCachePlainOptions> = {
  as: oneOf({
    words: ['hash', 'json'],
    default: 'hash',
    help:
      'How an entry is kept. "hash": a field for each column, null removes it, and an absent one stays. "json": one text, which ' +
      'each message replaces as a whole.',
  }),
  ttl: {
    ...duration({
      default: 0,
      help:
        'How long an entry is kept after its last change. 0: for ever. Too short: readers miss what has not changed for a ' +
        'while, as nothing writes it again.',
    }),
    shownDefault: 'for ever',
  },
  keepDeleted,
  connectTimeout: duration({
    default: '10s',
    min: '100ms',
    max: '10m',
    help: 'How long taking up the connection may take.',
  }),
  commandTimeout: duration({
    default: '15s',
    min: '100ms',
    max: '10m',
    help: 'How long the answer to a batch may take before it is repeated. Too low: a busy server is asked again and again.',
  }),
}

/**
 * Entries in Redis 6 or later, as the target of a sidecar: one script call a batch. A server with its replicas, not a cluster.
 * Makes no connection yet: `run` does. Needs the driver package `@redis/client`.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function redisCache(options: RedisCacheOptions): Target {
  checkObject('redisCache()', options, "{ url, prefix: 'product:' }")
  const problems = new Problems()
  const { url, prefix, ...plain } = options
  if (typeof url !== 'string' || !/^rediss?:/.test(url) || !URL.canParse(url))
    problems.add("url: expected 'redis://user:password@host:6379'")
  if (typeof prefix !== 'string' || prefix === '')
    problems.add(`prefix: expected a text such as 'product:', found ${shown(prefix)}`)
  const settings = readOptions(redisCacheOptions, plain, problems, ['url', 'prefix'])
  problems.throwIfAny('The options of redisCache() are wrong')
  const { hostname, port, pathname } = new URL(url)
  const name = `the cache ${prefix}* in redis ${hostname || 'localhost'}:${port || 6379}${pathname}`
  return {
    name,
    check({ groups }, report) {
      if (groups.some(({ version }) => version?.column !== undefined))
        report('version.column: expected none, as a cache notes versions beside its entries')
      if (settings.as === 'json' && groups.length > 1)
        report("groups: expected one, as entries that are 'json' are replaced as a whole")
    },
    rows: (shape) => new CacheRows({ name, url, prefix, shape, settings }),
  }
}

interface CacheParts {
  readonly name: string
  readonly url: string
  readonly prefix: string
  readonly shape: RowShape
  readonly settings: RedisCachePlainOptions
}

/** The entries of one sidecar. */
class CacheRows implements Rows {
  readonly name: string
  readonly #settings: RedisCachePlainOptions
  readonly #arguments: CacheArguments
  readonly #link: OpenOnce<RedisLink>

  constructor({ name, url, prefix, shape, settings }: CacheParts) {
    this.name = name
    this.#settings = settings
    this.#arguments = new CacheArguments(shape, settings.as, prefix)
    this.#link = new OpenOnce(
      name,
      () => RedisLink.to(name, url, settings),
      (link) => link.close(),
    )
  }

  open(): Promise<void> {
    return this.#link.open()
  }

  close(): Promise<void> {
    return this.#link.close()
  }

  async write(
    changes: readonly RowChange[],
    signal: AbortSignal,
  ): Promise<readonly (PolluxError | undefined)[]> {
    const { as, ttl, keepDeleted: kept } = this.#settings
    const refusals = new Array<PolluxError | undefined>(changes.length).fill(undefined)
    const { keys, args, places } = this.#arguments.of(changes, refusals)
    if (places.length === 0) return refusals
    signal.throwIfAborted()
    const answers = await this.#link.value.callScript(keys, [
      as,
      String(ttl),
      String(kept),
      ...args,
    ])
    for (const [index, place] of places.entries()) {
      const why = answers[index]
      if (why !== undefined && why !== '') refusals[place] = this.#refusal(why)
    }
    return refusals
  }

  #refusal(why: string): PolluxError {
    return new PolluxError('POLLUX_ROW_REFUSED', `${this.name} cannot take this entry.`, {
      found: why,
    })
  }
}
