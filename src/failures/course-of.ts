import { causesOf } from '../causes.ts'
import type { Course } from './course.ts'
import { ofAws } from './of-aws.ts'
import { ofHttp } from './of-http.ts'
import { ofKafka } from './of-kafka.ts'
import { ofMysql } from './of-mysql.ts'
import { ofPollux } from './of-pollux.ts'
import { ofRedis } from './of-redis.ts'
import { ofSql } from './of-sql.ts'
import { ofSystem } from './of-system.ts'

// Those that look at one thing only come before those that look at something others have, too.
const readers = [ofPollux, ofAws, ofKafka, ofSystem, ofMysql, ofSql, ofHttp, ofRedis]

/**
 * What is done about whatever a handler has thrown: what the outermost of the error and its causes says that says
 * anything. What says nothing is tried again.
 */
export function courseOf(error: unknown): Course {
  for (const cause of causesOf(error)) {
    for (const read of readers) {
      const course = read(cause)
      if (course !== undefined) return course
    }
  }
  return 'retry'
}
