import { errorText } from '../errors.ts'
import type { Logger } from '../ports/logger.ts'
import type { DriverClient } from './driver.ts'
import type { Secrets } from './secrets.ts'

/** Whether brokers are gone, and known to be. Clients that are tried one after the other share one: it is one outage. */
export class Outage {
  isKnown = false
}

/**
 * Follows what a client says about its connections. Its own lines go to the logger at level `debug`, without secrets;
 * that the brokers are gone, and that they are back, is told once each.
 */
export class ConnectionLog {
  readonly #logger: Logger
  readonly #secrets: Secrets
  readonly #where: string
  readonly #outage: Outage
  #reason: string | undefined
  #refused: ((reason: string) => void) | undefined

  constructor(
    client: DriverClient,
    logger: Logger,
    secrets: Secrets,
    where: string,
    outage: Outage = new Outage(),
  ) {
    this.#outage = outage
    this.#logger = logger
    this.#secrets = secrets
    this.#where = where
    client.on('event.log', ({ severity, fac, message }) => this.#line(severity, fac, message))
    client.on('event.error', (error) => this.#error(error))
    // The driver emits this for a token function that fails; without a listener it would end the process.
    client.on('error', (error) => this.#tokenFailed(errorText(error)))
  }

  /** Why the last connection failed, as the client put it; undefined when none did. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Calls `refused` as soon as a broker turns us away for good: wrong account, or a certificate that is not trusted. */
  onRefusal(refused: (reason: string) => void): void {
    this.#refused = refused
  }

  /** To be called when a request was answered. */
  isUp(): void {
    if (!this.#outage.isKnown) return
    this.#outage.isKnown = false
    this.#logger.info({ brokers: this.#where }, 'Kafka answers again')
  }

  #line(severity: number, fac: string, message: string): void {
    const text = this.#secrets.scrub(message)
    this.#logger.debug({ facility: fac, severity }, text)
    if (severity > 4 && fac !== 'FAIL') return
    const reason = failureReason(text)
    if (reason === undefined) return
    this.#reason = reason
    if (isFinal(reason)) this.#refused?.(reason)
  }

  #tokenFailed(text: string): void {
    this.#reason = this.#secrets.scrub(
      text.replace(/^oauthbearer_token_refresh_cb: /, 'sasl.token: '),
    )
    this.#logger.debug({ facility: 'TOKEN' }, this.#reason)
  }

  #error(error: Error): void {
    const text = this.#secrets.scrub(errorText(error))
    this.#logger.debug({ facility: 'ERROR' }, text)
    if (!/all broker connections are down|brokers are down/i.test(text) || this.#outage.isKnown)
      return
    this.#outage.isKnown = true
    this.#logger.warn(
      { brokers: this.#where, reason: this.#reason ?? text },
      'Kafka does not answer; waiting until it does',
    )
  }
}

/** `[thrd:…]: 127.0.0.1:9092/bootstrap: Connect to … failed: Connection refused (after 0ms in …)` without its frame. */
function failureReason(line: string): string | undefined {
  const text = line.replace(/^\[thrd:[^\]]*\]: /, '')
  if (!/fail|refused|disconnect|error|timed out|unsupported|terminat/i.test(text)) return undefined
  return text.replace(/\s*\(after \d+ms in state .*$/, '').trim()
}

function isFinal(reason: string): boolean {
  return /authentication fail|SASL authentication error|certificate verif|unsupported sasl mechanism|SaslAuthenticat/i.test(
    reason,
  )
}
