import { durationText } from '../duration.ts'
import { PolluxError } from '../errors.ts'
import type { Logger } from '../ports/logger.ts'
import { ConnectionLog, Outage } from './connection-log.ts'
import { call, type DriverClient } from './driver.ts'
import { settlesWithin } from './patience.ts'
import type { Secrets } from './secrets.ts'

/** What the clients of one connection share. */
export interface ConnectionContext {
  readonly logger: Logger
  readonly secrets: Secrets
  /** The brokers, as messages name them. */
  readonly where: string
  /** Aborted once the connection is closed. */
  readonly closed: AbortSignal
}

/** A client that is connected, and what it says about its connections. */
export interface ConnectedClient<Client extends DriverClient> {
  readonly client: Client
  readonly log: ConnectionLog
}

// One attempt holds a thread of Node's pool, of which there are four: keep it short, and try again.
const attemptLimit = 4_000

/**
 * Makes a client and waits until a broker has answered it.
 * @throws POLLUX_BROKER_UNREACHABLE after `limit` milliseconds, naming the brokers and the reason; at once when
 * a broker turns us away.
 */
export async function connectClient<Client extends DriverClient>(
  make: () => Client,
  context: ConnectionContext,
  limit: number,
): Promise<ConnectedClient<Client>> {
  const deadline = performance.now() + limit
  const outage = new Outage()
  let reason: string | undefined
  for (;;) {
    const client = construct(make, context)
    const { logger, secrets, where } = context
    const log = new ConnectionLog(client, logger, secrets, where, outage)
    const refusal = Promise.withResolvers<string>()
    log.onRefusal((why) => refusal.resolve(why))
    const left = Math.max(1, Math.min(attemptLimit, Math.ceil(deadline - performance.now())))
    const attempt = call((done) => client.connect({ timeout: left, allTopics: false }, done)).then(
      () => undefined,
      (error: Error) => log.reason ?? context.secrets.scrub(error.message),
    )
    const refused = await Promise.race([
      attempt,
      refusal.promise.then((why) => `refused: ${why}`),
      aborted(context.closed),
    ])
    if (refused === undefined) {
      log.isUp()
      return { client, log }
    }
    reason = refused === 'closed' ? (log.reason ?? reason) : refused.replace(/^refused: /, '')
    // A failed connect takes the client down itself; one that is still at it is taken down behind our back.
    if (!(await settlesWithin(attempt, 0))) void attempt.then(() => disconnectClient(client, 1_000))
    const isLate = performance.now() >= deadline - 10
    if (isLate || refused.startsWith('refused: ') || context.closed.aborted)
      throw unreachable(context, limit, reason)
  }
}

/** Makes a client. @throws POLLUX_OPTION_INVALID for a setting that librdkafka refuses. */
export function construct<Client>(
  make: () => Client,
  { secrets }: Pick<ConnectionContext, 'secrets'>,
): Client {
  try {
    return make()
  } catch (cause: unknown) {
    if (PolluxError.is(cause)) throw cause
    throw new PolluxError('POLLUX_OPTION_INVALID', 'The Kafka client refuses a setting.', {
      found: secrets.scrub(cause instanceof Error ? cause.message : String(cause)),
      hint: 'The settings are librdkafka’s; its CONFIGURATION.md lists them.',
    })
  }
}

function unreachable(
  { where }: ConnectionContext,
  limit: number,
  reason: string | undefined,
): PolluxError {
  return new PolluxError('POLLUX_BROKER_UNREACHABLE', `Kafka at ${where} cannot be reached.`, {
    expected: `an answer within ${durationText(limit)}`,
    found: reason ?? 'none',
    hint: 'Check that the brokers run, that the addresses are right, and that tls and sasl fit the listener.',
  })
}

function aborted(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('closed')
    else signal.addEventListener('abort', () => resolve('closed'), { once: true })
  })
}

/** Ends a client. The native part may take its time, or never answer: after `limit` milliseconds it is left alone. */
export async function disconnectClient(client: DriverClient, limit: number): Promise<boolean> {
  return await settlesWithin(
    new Promise<void>((resolve) => {
      try {
        client.disconnect(resolve)
      } catch {
        resolve()
      }
    }),
    limit,
  )
}
