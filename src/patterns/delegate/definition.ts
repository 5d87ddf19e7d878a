import type { Duration } from '../../duration.ts'
import type { Idempotency } from '../../idempotency.ts'
import type { HandlerContext, Outputs } from '../../service.ts'
import type { HandlerOptions } from '../../service-options.ts'
import type { AnyTopic, MessageOf } from '../../topic.ts'
import type { Failure, FailureKind } from './classify.ts'
import type { DelegateOptions } from './options.ts'

/** What a call is given beside its message. */
export interface CallContext extends Pick<HandlerContext, 'clock' | 'log'> {
  /** Aborted at the time limit, and when the partition is lost. */
  readonly signal: AbortSignal
  /** The same for each try of a message, in any process: the called service can drop the second of two equal ones. */
  readonly idempotencyKey: string
  /** Counts from 1. */
  readonly attempt: number
}

/** What a call with several messages is given beside them. */
export interface CallManyContext extends Pick<CallContext, 'clock' | 'log' | 'signal'> {
  /** One for each message. */
  readonly idempotencyKeys: readonly string[]
}

/** One call for each message. */
export interface CallOne<M, R> {
  readonly call: (message: M, context: CallContext) => R | Promise<R>
  readonly callMany?: never
  readonly batch?: never
}

/** One call for several messages that are in work at once. */
export interface CallMany<M, R> {
  /**
   * A result for each message, in their order; an `Error` among them fails its message alone. When the whole call is refused
   * for good, it is made again with either half, until those that are at fault stand alone.
   */
  readonly callMany: (
    messages: readonly M[],
    context: CallManyContext,
  ) => Promise<readonly (R | Error)[]>
  readonly call?: never
  readonly batch?: { readonly size?: number; readonly wait?: Duration }
}

/** What `delegate` takes, beside the options of every service. */
export type DelegateDefinition<I extends AnyTopic, O extends readonly AnyTopic[], R> = {
  readonly input: I
  readonly outputs?: O
  /** What becomes of a result: outputs, or nothing. */
  readonly handle?: (
    result: R,
    message: MessageOf<I>,
    context: HandlerContext,
  ) => Outputs<O[number]> | Promise<Outputs<O[number]>>
  /** Understands errors of a client of yours; undefined leaves one to `classify`. */
  readonly classify?: (error: unknown) => Failure | FailureKind | undefined
  /** Keeps results by what they were made from: `by`, by default the value's bytes. Undefined is not kept. */
  readonly cache?: {
    readonly by?: (message: MessageOf<I>) => string | Uint8Array | undefined
    readonly entries?: number
    readonly lifetime?: Duration
  }
  /** As in every service. Needs a store unless it is `'natural'`. */
  readonly idempotency?: Idempotency<MessageOf<I>>
} & (CallOne<MessageOf<I>, R> | CallMany<MessageOf<I>, R>) &
  DelegateOptions &
  HandlerOptions
