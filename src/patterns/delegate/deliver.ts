import { backoffWait } from '../../backoff.ts'
import { errorText } from '../../errors.ts'
import { NonRetryableError, RetryableError } from '../../handler-errors.ts'
import { pause } from '../../pause.ts'
import type { HandlerContext } from '../../service.ts'
import { awaitTurn } from './allowance.ts'
import { askedTooMuch, type Barrier, stopped } from './barrier.ts'
import type { Outcome, Ticket } from './breaker.ts'
import type { Failure } from './classify.ts'
import type { DelegateSettings } from './option-tables.ts'

/** What delivering needs beside its message. */
export interface DeliveryParts<R> {
  readonly settings: DelegateSettings
  readonly barrier: Barrier
  /** Whether calls take their turns themselves: a batch takes one for all. */
  readonly takesTurns: boolean
  readonly context: HandlerContext
  readonly classify: (error: unknown) => Failure
  /** One try; `attempt` counts from 1. */
  call(attempt: number): Promise<R>
}

/**
 * Calls until it succeeds, and waits in between as long as it takes. Meanwhile the handler is in work and nothing else: fetching
 * stops when enough handlers wait, and the group membership is kept.
 * @throws POLLUX_NOT_RETRYABLE for what is refused for good, and when its attempts are used up; POLLUX_RETRY_LATER when it
 * would have to wait for too long, or its partition is given up.
 */
export async function deliver<R>(parts: DeliveryParts<R>): Promise<R> {
  const { barrier, context } = parts
  let failures = 0
  for (let attempt = 1; ; attempt += 1) {
    const ticket = await enter(parts)
    context.count('calls')
    try {
      const result = await parts.call(attempt)
      leave(parts, ticket, 'success')
      return result
    } catch (error) {
      if (context.signal.aborted || isOurStop(error, context)) {
        barrier.leave(ticket, 'unknown')
        throw error
      }
      const failure = parts.classify(error)
      record(parts, ticket, failure)
      // While it is open, the service is at fault and not this message.
      if (failure.kind === 'transient' && barrier.isClosed) failures += 1
      await afterFailure(parts, { error, failure, attempt, failures })
    }
  }
}

/** Waits until the called service may be called, and has a turn for us. */
async function enter<R>({
  barrier,
  settings,
  takesTurns,
  context,
}: DeliveryParts<R>): Promise<Ticket> {
  for (;;) {
    const ticket = await barrier.enter(context.stopping)
    if (!takesTurns || settings.limiter === undefined) return ticket
    await awaitTurn(settings.limiter, context)
    // While it waited for its turn, others may have failed.
    if (!context.stopping.aborted && barrier.isFree(ticket)) return ticket
    barrier.leave(ticket, 'unknown')
    if (context.stopping.aborted) throw stopped('calls are spaced out')
  }
}

/** It ended a wait inside the call. */
function isOurStop(error: unknown, { stopping }: HandlerContext): boolean {
  return stopping.aborted && error instanceof RetryableError
}

/** A refusal shows that the service works; one that is overloaded says nothing, unless it was to show that it is back. */
function record<R>(parts: DeliveryParts<R>, ticket: Ticket, { kind, after }: Failure): void {
  if (kind === 'permanent') leave(parts, ticket, 'success')
  else leave(parts, ticket, kind === 'transient' || ticket.isProbe ? 'failure' : 'unknown')
  if (after !== undefined) parts.barrier.hold(after)
}

/** Gives a ticket back, and says when that opens or closes the breaker. */
function leave<R>({ barrier, context }: DeliveryParts<R>, ticket: Ticket, outcome: Outcome): void {
  const wasClosed = barrier.isClosed
  barrier.leave(ticket, outcome)
  if (barrier.isClosed === wasClosed) return
  if (wasClosed) context.count('opened')
  if (wasClosed) context.log.warn({}, 'the called service fails: calls wait until it works again')
  else context.log.info({}, 'the called service works again')
}

/** Waits for the next try, or throws when there is none. */
async function afterFailure<R>(
  { settings, context }: DeliveryParts<R>,
  {
    error,
    failure: { kind, after = 0 },
    attempt,
    failures,
  }: { error: unknown; failure: Failure; attempt: number; failures: number },
): Promise<void> {
  const { clock, stopping, log, count } = context
  const { backoff, attempts, longestWait } = settings
  const text = errorText(error)
  count(kind === 'overload' ? 'overloads' : 'failures')
  if (kind === 'permanent')
    throw new NonRetryableError(`The call was refused: ${text}`, { cause: error })
  if (failures >= attempts)
    throw new NonRetryableError(`The call failed ${failures} times, at last: ${text}`, {
      cause: error,
    })
  if (after > longestWait) throw askedTooMuch(after, error)
  const wait = backoffWait(backoff, attempt, clock.random())
  log.debug({ error: text, kind, attempt, wait }, 'a call failed, trying again')
  await pause(clock, wait, stopping)
  if (stopping.aborted) throw stopped('a failed call waits for its next try')
}
