import type { LogReads } from './log-storage.ts'
import { isBusy, toPolluxError } from './sqlite-errors.ts'

/** Readers meet a held file only while one process repairs what a killed one left; that takes moments. */
const mostTries = 250

/** The same reads, whose faults are PolluxErrors that name the file. */
export function guardedReads(reads: LogReads, file: string): LogReads {
  function guard<A extends unknown[], R>(read: (...args: A) => R): (...args: A) => R {
    return (...args) => {
      for (let tries = 1; ; tries += 1) {
        try {
          return read(...args)
        } catch (error: unknown) {
          if (!isBusy(error) || tries === mostTries) throw toPolluxError(error, file)
        }
      }
    }
  }
  return {
    topics: guard(() => reads.topics()),
    topic: guard((name: string) => reads.topic(name)),
    range: guard((...args: Parameters<LogReads['range']>) => reads.range(...args)),
    read: guard((...args: Parameters<LogReads['read']>) => reads.read(...args)),
    firstAt: guard((...args: Parameters<LogReads['firstAt']>) => reads.firstAt(...args)),
    groupNames: guard(() => reads.groupNames()),
    group: guard((name: string) => reads.group(name)),
    offsets: guard((group: string) => reads.offsets(group)),
    sessions: guard(() => reads.sessions()),
  }
}
