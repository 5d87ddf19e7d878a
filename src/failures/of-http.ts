import type { Course } from './course.ts'

const courses: Readonly<Record<number, Course>> = {
  // Our credentials are refused, not this message: all others would be as well.
  401: 'wait',
  407: 'wait',
  408: 'retry',
  409: 'retry',
  423: 'retry',
  425: 'retry',
  429: 'wait',
  500: 'retry',
  501: 'dead-letter',
  502: 'wait',
  503: 'wait',
  504: 'retry',
  505: 'dead-letter',
}

/** Errors that carry the status of an answer: as `status` or `statusCode`, or that of their `response`. */
export function ofHttp(error: object): Course | undefined {
  const { status, statusCode, response } = error as Record<string, unknown>
  const found = [status, statusCode, (response as { status?: unknown } | undefined)?.status].find(
    (one): one is number => typeof one === 'number' && one >= 300 && one < 600,
  )
  if (found === undefined) return undefined
  return courses[found] ?? (found >= 500 ? 'retry' : 'dead-letter')
}
