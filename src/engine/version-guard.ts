import { PolluxError, shown } from '../errors.ts'
import type { Work } from './partition.ts'

/**
 * What is noted beside a key's state when the service goes by versions: the newest version applied and the record that
 * brought it, as `version@topic/partition/offset`.
 */
export function guardOf(version: number | bigint, work: Work): string {
  // A large whole number is printed with other digits than it has: 2 ** 60 as 1152921504606847000.
  return `${Number.isInteger(version) ? BigInt(version) : version}@${work}`
}

/**
 * Whether a version has an effect on a key: it is newer, or as new and of a later record of the same partition. An
 * equal one from elsewhere changes nothing: which of the two is the newer nobody can tell, and the first stands.
 */
export function isNewer(version: number | bigint, work: Work, guard: string | null): boolean {
  if (guard === null) return true
  const noted = read(guard)
  if (version > noted.version) return true
  if (version < noted.version) return false
  return noted.partition === String(work.partition) && work.offset > noted.offset
}

const pattern = /^(.+?)@(.+)\/(\d+)$/

function read(guard: string): {
  readonly version: number | bigint
  readonly partition: string
  readonly offset: number
} {
  const [, version = '', partition = '', offset = ''] = pattern.exec(guard) ?? []
  if (offset === '') {
    throw new PolluxError('POLLUX_STORE_FAILED', 'The store holds something else than a version.', {
      expected: 'version@topic/partition/offset',
      found: shown(guard),
    })
  }
  return {
    version: /^-?\d+$/.test(version) ? BigInt(version) : Number(version),
    partition,
    offset: Number(offset),
  }
}

/** @throws POLLUX_HANDLER_FAILED for what is no version. */
export function checkVersion(version: unknown, work: Work): number | bigint {
  if (typeof version === 'bigint') return version
  if (typeof version === 'number' && Number.isFinite(version)) return version
  throw new PolluxError('POLLUX_HANDLER_FAILED', `${work} has no version.`, {
    expected: 'a finite number or a bigint from idempotency.of',
    found: shown(version),
  })
}
