import type { Course } from './course.ts'

/** The first word of a reply that is an error (https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors). */
const courses: Readonly<Record<string, Course>> = {
  LOADING: 'wait',
  READONLY: 'wait',
  MASTERDOWN: 'wait',
  CLUSTERDOWN: 'wait',
  TRYAGAIN: 'wait',
  BUSY: 'wait',
  OOM: 'wait',
  NOREPLICAS: 'wait',
  MISCONF: 'wait',
  NOAUTH: 'wait',
  WRONGPASS: 'wait',
  NOPERM: 'wait',
  WRONGTYPE: 'dead-letter',
}

/** What `@redis/client` throws when it has no connection. */
const withoutConnection: readonly string[] = [
  'ClientClosedError',
  'ClientOfflineError',
  'ConnectionTimeoutError',
  'DisconnectsClientError',
  'ReconnectStrategyError',
  'SocketClosedUnexpectedlyError',
  'SocketTimeoutError',
]

/** Errors of Redis. */
export function ofRedis(error: object): Course | undefined {
  if (withoutConnection.includes(error.constructor.name)) return 'wait'
  if (!(error instanceof Error)) return undefined
  const [word = ''] = error.message.split(' ', 1)
  return Object.hasOwn(courses, word) ? courses[word] : undefined
}
