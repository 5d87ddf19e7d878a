import type { Granted } from '../../capability.ts'
import type { Idempotency } from '../../idempotency.ts'
import type { Message } from '../../message.ts'
import type { BadText, Target } from '../../ports/target.ts'
import type { HandlerContext, Uses } from '../../service.ts'
import type { ServiceOptions } from '../../service-options.ts'
import type { AnyTopic, MessageOf } from '../../topic.ts'

/** A message that is no tombstone. */
export type WithValue<M> =
  M extends Message<infer K, infer V, infer Name> ? Message<K, Exclude<V, null>, Name> : never

/** The names that values have in each input. */
type FieldOf<M> = M extends Message<infer _, infer V> ? keyof Exclude<V, null> & string : never

/**
 * Where a column's value comes from: a field of the value, or what a function makes of the message. Undefined leaves the
 * column alone, null clears it.
 */
export type ColumnSource<M> = FieldOf<M> | ((message: WithValue<M>) => unknown)

/** The columns that are written, by their names in the table. */
export type Columns<M> = Readonly<Record<string, ColumnSource<M>>>

/**
 * Which of two messages of a row is the newer one: without it, the later.
 *
 * - `field`: the one with the larger number. Of a tombstone, undefined counts as newer than all before.
 * - `timestamp`: the one whose record has the later time.
 * - `offset`: the later one in the log. Of one input only, whose keys stay in their partition.
 *
 * `column` is where the table keeps it; without one the target notes it elsewhere.
 */
export type RowVersion<M> =
  | {
      readonly by: 'field'
      readonly of: (message: M) => number | bigint | undefined
      readonly column?: string
    }
  | { readonly by: 'timestamp'; readonly column?: string }
  | { readonly by: 'offset'; readonly column?: string }

/** Columns that are replaced together, whatever the version of the others. */
export interface Group<M> {
  readonly columns: Columns<M>
  readonly version?: RowVersion<M>
}

interface CommonDefinition<I extends AnyTopic>
  extends Omit<ServiceOptions, 'publish' | 'order' | 'fencing' | 'outsideReset'> {
  /** One topic, or several that feed the same rows. */
  readonly input: I | readonly I[]
}

/** What `sidecar` takes for a target. */
export interface SidecarDefinition<I extends AnyTopic> extends CommonDefinition<I> {
  /** Such as `postgresTable({…})`. It is checked before the first message, and closed after the last one. */
  readonly target: Target
  /** What tells rows apart: the table has a unique index on exactly these columns. Works for tombstones, too. */
  readonly key: Readonly<Record<string, (message: MessageOf<I>) => unknown>>
  /** Only these are ever written, and the key and versions. */
  readonly columns?: Columns<MessageOf<I>>
  readonly version?: RowVersion<MessageOf<I>>
  /** In the place of `columns` and `version`, for rows that several sources make together. */
  readonly groups?: readonly Group<MessageOf<I>>[]
  readonly tombstones?: 'delete' | 'ignore' | 'refuse'
  readonly badText?: BadText
  readonly apply?: undefined
}

/** What `sidecar` takes to write by hand. */
export interface SidecarByHand<I extends AnyTopic, U extends Uses>
  extends Omit<CommonDefinition<I>, 'batch'> {
  /** Writes what a message asks for. Given `db` by `uses: { db: postgresTransaction }`, it all commits with the position. */
  readonly apply: (
    message: MessageOf<I>,
    context: HandlerContext & Granted<U>,
  ) => void | Promise<void>
  readonly uses?: U
  readonly idempotency?: Idempotency<MessageOf<I>>
  readonly batch?: undefined
  readonly target?: undefined
}
