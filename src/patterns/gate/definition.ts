import type { Capability } from '../../capability.ts'
import type { Duration } from '../../duration.ts'
import type { Idempotency } from '../../idempotency.ts'
import type { Outputs } from '../../service.ts'
import type { ServiceOptions } from '../../service-options.ts'
import type { AnyTopic, MessageOf } from '../../topic.ts'
import type { AnyFact, Fact } from './fact.ts'
import type { GateDatabase } from './table.ts'

/** The facts of a gate, by the names of their columns. */
export type Facts = Readonly<Record<string, AnyFact>>

/** What the facts that are kept have kept, by name. */
export type Kept<F extends Facts> = {
  readonly [Name in keyof F as KeptBy<F[Name]> extends never ? never : Name]: KeptBy<F[Name]>
}

type KeptBy<F> = F extends Fact<infer _, infer K> ? K : never

/** The messages of all facts. */
type FactMessage<F extends Facts> = MessageOf<F[keyof F]['topic']>

/** A fact that comes after its gate has opened or expired, and says something new. Its own payload is among `facts`. */
export type Late<F extends Facts> =
  | { readonly fact: keyof F & string; readonly after: 'opened'; readonly facts: Kept<F> }
  | { readonly fact: keyof F & string; readonly after: 'expired'; readonly facts: Partial<Kept<F>> }

type Result<O extends readonly AnyTopic[]> = Outputs<O[number]> | Promise<Outputs<O[number]>>

/** What `gate` takes. */
export interface GateDefinition<F extends Facts, O extends readonly AnyTopic[]>
  extends Pick<ServiceOptions, 'batch' | 'start' | 'outsideReset' | 'deadLetter' | 'retry'> {
  /** What has to come, in any order. Each has a column of its name in the table. */
  readonly facts: F
  readonly outputs?: O
  /** Where the gates are kept, a row each: a table, or `schema.table`. It is made where it is missing. */
  readonly table: string
  /** The unit's transaction: `postgresTransaction` of `pollux/postgres`, for PGlite, too. */
  readonly db: Capability<GateDatabase>
  /** What belongs together. Default: the message's key, which has to be a text. */
  readonly key?: (message: FactMessage<F>) => string
  /** Called once, when the last fact has come. What it returns is published with the facts stored. */
  readonly open: (key: string, facts: Kept<F>) => Result<O>
  /**
   * What becomes of a fact that comes after the end of its gate and says something new. `'ignore'` (default) counts it,
   * `'dead-letter'` fails it, `'reopen'` begins the gate anew, a function may return outputs, such as a revision.
   */
  readonly late?: 'ignore' | 'dead-letter' | 'reopen' | ((key: string, late: Late<F>) => Result<O>)
  /** How long a gate may wait, from its first fact on. Default: for ever. */
  readonly timeout?: Duration
  /** Called once, when a gate has waited for `timeout`, with what has not come and what has. */
  readonly expire?: (
    key: string,
    missing: readonly (keyof F & string)[],
    facts: Partial<Kept<F>>,
  ) => Result<O>
  /** How many gates may wait at once; facts that would begin one more wait until there is room. Default: no limit. */
  readonly maxOpen?: number
  /** How long after its end a gate's row is removed; a fact that comes then begins a new one. Default: never. */
  readonly forget?: Duration
  readonly idempotency?: Exclude<Idempotency<FactMessage<F>>, { readonly by: 'version' }>
}
