import { shown } from '../../errors.ts'
import { type Problems, readInside } from '../../options.ts'
import { defaultConcurrency } from '../../service-options.ts'
import { classify, type Failure, type FailureKind } from './classify.ts'
import type { CallContext, CallManyContext } from './definition.ts'
import {
  type BatchSettings,
  batchOptions,
  type CacheSettings,
  cacheOptions,
  type DelegateSettings,
} from './option-tables.ts'
import { type DelegateOptions, readDelegateOptions } from './options.ts'

/** A definition as read: whom to call, and how. */
export interface Target<M, R> {
  readonly service: string
  readonly settings: DelegateSettings
  readonly call: ((message: M, context: CallContext) => R | Promise<R>) | undefined
  readonly many: Many<M, R> | undefined
  readonly cache: Cache<M> | undefined
  readonly classify: (error: unknown) => Failure
}

interface Many<M, R> extends BatchSettings {
  readonly call: (
    messages: readonly M[],
    context: CallManyContext,
  ) => Promise<readonly (R | Error)[]>
}

interface Cache<M> extends CacheSettings {
  readonly by: ((message: M) => string | Uint8Array | undefined) | undefined
}

/** Reads what belongs to the calls, and notes what is wrong. `concurrency` is the service's, as given. */
export function readTarget<M, R>(
  service: string,
  given: Readonly<Record<string, unknown>>,
  concurrency: unknown,
  problems: Problems,
): Target<M, R> {
  const { call, callMany, batch, cache, classify: own, ...options } = given
  for (const [name, value] of Object.entries({ call, callMany, classify: own })) {
    if (value !== undefined && typeof value !== 'function')
      problems.add(`${name}: expected a function, found ${shown(value)}`)
  }
  if ((call === undefined) === (callMany === undefined))
    problems.add(
      `call: expected either call or callMany, found ${call === undefined ? 'none' : 'both'}`,
    )
  if (callMany === undefined && batch !== undefined)
    problems.add('batch: expected callMany, which it is for, found none')
  return {
    service,
    settings: readDelegateOptions(options as DelegateOptions, problems),
    call: call as Target<M, R>['call'],
    many:
      callMany === undefined
        ? undefined
        : { call: callMany as Many<M, R>['call'], ...readBatch(batch, concurrency, problems) },
    cache: cache === undefined ? undefined : readCache(cache, problems),
    classify: classifier(own as Classifier | undefined),
  }
}

type Classifier = (error: unknown) => Failure | FailureKind | undefined

function classifier(own: Classifier | undefined): (error: unknown) => Failure {
  return (error) => {
    const understood = own?.(error) ?? classify(error)
    const { kind, after }: Failure =
      typeof understood === 'string' ? { kind: understood } : understood
    // What is no number of milliseconds says nothing.
    return after !== undefined && after >= 0 ? { kind, after: Math.min(after, forEver) } : { kind }
  }
}

const forEver = Number.MAX_SAFE_INTEGER

function readBatch(given: unknown, concurrency: unknown, problems: Problems): BatchSettings {
  const batch = readInside('batch', batchOptions, given, problems)
  const most = typeof concurrency === 'number' ? concurrency : defaultConcurrency.one
  if (batch.size > most)
    problems.add(
      `batch.size: expected no more than concurrency (${most}), as more messages are never in work at once; found ${batch.size}`,
    )
  return batch
}

function readCache<M>(given: unknown, problems: Problems): Cache<M> {
  const { by, ...plain } = (given ?? {}) as Partial<Cache<M>>
  if (by !== undefined && typeof by !== 'function')
    problems.add(`cache.by: expected a function of the message, found ${shown(by)}`)
  return { ...readInside('cache', cacheOptions, plain, problems), by }
}
