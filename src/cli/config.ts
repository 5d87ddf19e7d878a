import type { KafkaOptions } from '../kafka/index.ts'
import type { PostgresOptions } from '../postgres/index.ts'
import type { RuntimeOptions } from '../runtime-options.ts'
import type { LogLevel } from './settings/settings.ts'

/** What `pollux.config.ts` may say. Environment variables go before it, flags before both. */
export interface PolluxConfig extends RuntimeOptions {
  /** The Kafka to connect to, as `kafka()` takes it. Without it, the embedded broker is used. */
  readonly kafka?: KafkaOptions
  /** The PostgreSQL to keep state in, as `postgres()` takes it. Without it, the embedded store is used. */
  readonly postgres?: PostgresOptions
  /** Where the embedded broker and store keep their data. Default `.pollux`, in the working folder. */
  readonly folder?: string
  /** Default `info`; commands other than run begin at `warn`. */
  readonly logLevel?: LogLevel
  /** How many processes `pollux run` shares the work between. Default 1. */
  readonly workers?: number
}

/** Types the default export of `pollux.config.ts`. It checks nothing: `pollux` does, when it reads the file. */
export function defineConfig(config: PolluxConfig): PolluxConfig {
  return config
}
