import type { Granted } from './capability.ts'
import type { Duration } from './duration.ts'
import { shown } from './errors.ts'
import { duration, type OptionTable, type Problems, readOptions } from './options.ts'
import type { HandlerContext, Outputs, Uses } from './service.ts'
import type { AnyTopic } from './topic.ts'

/** What a scheduled run is given beside what `uses` asks for. Dead once the run has ended. */
export interface ScheduledContext extends HandlerContext {
  /** When the run began, in milliseconds since 1970. */
  readonly now: number
  /** Asks for the next run as soon as this one is committed: it has worked through a part of what is due. */
  again(): void
}

/** Work that is due by time rather than by a message, as `defineService` takes it. */
export interface ScheduleDefinition<O extends readonly AnyTopic[], U extends Uses> {
  /** From the start of a run to the start of the next. Default `'1s'`. */
  readonly every?: Duration
  /** Runs in a transaction of its own; what it returns is stored in that and published after it. */
  readonly run: (
    context: ScheduledContext & Granted<U>,
  ) => Outputs<O[number]> | Promise<Outputs<O[number]>>
}

/** As read. */
export interface Schedule {
  /** In milliseconds. */
  readonly every: number
  readonly run: (context: never) => unknown
}

export const scheduleOptions: OptionTable<Pick<Schedule, 'every'>> = {
  every: duration({
    min: '10ms',
    default: '1s',
    help:
      'The time from the start of a run to the start of the next. A run that takes longer makes the next one late, and none ' +
      'is made up for. Too low: transactions for nothing. Too high: what is due waits.',
  }),
}

/** Adds what is wrong to `problems`. */
export function readSchedule(given: unknown, problems: Problems): Schedule | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'object' || given === null) {
    problems.add(`schedule: expected { every: '1s', run(context) { … } }, found ${shown(given)}`)
    return undefined
  }
  const { run, ...rest } = given as Partial<ScheduleDefinition<[], Uses>>
  if (typeof run !== 'function')
    problems.add(`schedule.run: expected a function, found ${shown(run)}`)
  return { ...readOptions(scheduleOptions, rest, problems, ['run']), run: run as Schedule['run'] }
}
