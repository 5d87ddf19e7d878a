import type { Duration } from './duration.ts'
import { duration, integer, type OptionTable, yesNo } from './options.ts'

/** The plain options of a runtime; `docs/options.md` describes them. */
export interface RuntimeOptions {
  readonly bufferMessages?: number
  readonly bufferBytes?: number
  readonly commitInterval?: Duration
  readonly drainTimeout?: Duration
  readonly stopTimeout?: Duration
  readonly createTopics?: boolean
}

/** Runtime options as read: durations in milliseconds. */
export interface RuntimeSettings {
  readonly bufferMessages: number
  readonly bufferBytes: number
  readonly commitInterval: number
  readonly drainTimeout: number
  readonly stopTimeout: number
  readonly createTopics: boolean
}

export const runtimeOptions: OptionTable<RuntimeSettings> = {
  bufferMessages: integer({
    min: 1,
    max: 1_000_000,
    default: 10_000,
    help:
      'How many messages of a service may wait or be in work in this process. Above it, partitions are paused; the ' +
      'group membership is kept. A partition runs ahead of its oldest unfinished message by no more than this, either. ' +
      'Too low: handlers wait for the next fetch. Too high: memory, and more is delivered again after a crash.',
  }),
  bufferBytes: integer({
    min: 1_024,
    max: 4 * 1024 ** 3,
    default: 32 * 1024 ** 2,
    help: 'The same bound in bytes of keys, values and headers.',
  }),
  commitInterval: duration({
    default: '100ms',
    max: '1h',
    help:
      'The shortest time between two offset commits of a service. Too high: more is delivered again after a crash. ' +
      '0 commits as often as the broker answers.',
  }),
  drainTimeout: duration({
    default: '20s',
    max: '1h',
    help:
      'How long handlers may go on after a stop was asked for, or a partition is wanted back. Then their signal is ' +
      'aborted, and what is unfinished is delivered again.',
  }),
  stopTimeout: duration({
    default: '30s',
    max: '2h',
    help:
      'The whole of stopping. After it the process ends with exit code 4 whatever hangs. Keep it above drainTimeout ' +
      'and below what the platform grants (30 s in Kubernetes).',
  }),
  createTopics: yesNo({
    default: false,
    help: 'Makes missing topics at start instead of refusing to start. `pollux run` does so on the embedded broker without being asked.',
  }),
}
