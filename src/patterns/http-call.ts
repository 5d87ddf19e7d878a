import type { Codec } from '../codecs/codec.ts'
import { errorText, PolluxError } from '../errors.ts'
import { NonRetryableError } from '../handler-errors.ts'
import type { CallContext } from './delegate/definition.ts'
import { parseHttpDate, parseRetryAfter } from './delegate/retry-after.ts'

/** A request that `httpCall` makes. */
export interface HttpRequest<R> {
  readonly url: string | URL
  /** Default: POST with a `body`, else GET. */
  readonly method?: string
  /** A secret belongs here and not into the URL, whose path is shown by errors. */
  readonly headers?: Readonly<Record<string, string>>
  /** Text and bytes as they are, anything else as JSON. */
  readonly body?: unknown
  /** Decodes what comes back. Default: its bytes. */
  readonly response?: Codec<R, never>
  /** The header of the idempotency key, where the context has one. False: none. */
  readonly idempotencyHeader?: string | false
}

/** What a request is made under: the context of a `call` or `callMany`, or a handler's. */
export interface HttpContext extends Pick<CallContext, 'signal' | 'clock'> {
  readonly idempotencyKey?: string
}

/**
 * Asks by HTTP, on Node's own `fetch`, for as long as the context allows.
 * @throws POLLUX_CALL_FAILED when the answer is no success or there is none; it has the answer's `status`, its beginning as
 * `body`, and as `after` the milliseconds that Retry-After asks for.
 */
export async function httpCall<R = Buffer>(
  context: HttpContext,
  { url, response: codec, ...options }: HttpRequest<R>,
): Promise<R> {
  const target = new URL(url)
  const request = requestOf(options, context)
  const place = `${request.method} ${target.origin}${target.pathname}`
  const response = await send(place, target, request)
  if (!response.ok) throw await failureOf(place, response, context)
  const body = Buffer.from(await response.arrayBuffer())
  return codec === undefined ? (body as R) : await codec.decode(body)
}

interface Request extends RequestInit {
  readonly method: string
  readonly signal: AbortSignal
}

function requestOf(
  {
    method,
    headers,
    body: given,
    idempotencyHeader = 'idempotency-key',
  }: Omit<HttpRequest<unknown>, 'url' | 'response'>,
  { signal, idempotencyKey }: HttpContext,
): Request {
  const { body, contentType } = bodyOf(given)
  const verb = method ?? (body === undefined ? 'GET' : 'POST')
  const all = new Headers(contentType === undefined ? {} : { 'content-type': contentType })
  if (idempotencyHeader !== false && idempotencyKey !== undefined)
    all.set(idempotencyHeader, asHeader(idempotencyKey))
  for (const [name, value] of Object.entries(headers ?? {})) all.set(name, value)
  return {
    method: verb,
    headers: all,
    ...(body === undefined ? {} : { body }),
    // Following would turn a POST into a GET.
    redirect: verb === 'GET' || verb === 'HEAD' ? 'follow' : 'manual',
    signal,
  }
}

function bodyOf(given: unknown): {
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly contentType?: string
} {
  if (given === undefined) return {}
  if (typeof given === 'string') return { body: given }
  if (given instanceof Uint8Array) return { body: new Uint8Array(given) }
  try {
    return { body: JSON.stringify(given), contentType: 'application/json' }
  } catch (cause) {
    throw new NonRetryableError(`The body cannot be written as JSON: ${errorText(cause)}`, {
      cause,
    })
  }
}

/** A header takes no more than ASCII, and the key may hold anything. */
function asHeader(text: string): string {
  return /^[!-~]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}

async function send(place: string, url: URL, request: Request): Promise<Response> {
  try {
    return await fetch(url, request)
  } catch (cause) {
    request.signal.throwIfAborted()
    const { cause: below = cause } = cause as { cause?: unknown }
    throw new PolluxError('POLLUX_CALL_FAILED', `${place}: no answer: ${errorText(below)}`, {
      cause,
    })
  }
}

/** An answer that is no success. */
class AnswerError extends PolluxError {
  readonly status: number
  /** The beginning of the answer. Never in the message, as it may hold anything. */
  readonly body: string
  /** Milliseconds. */
  declare readonly after: number | undefined

  constructor(place: string, status: number, body: string, after: number | undefined) {
    super('POLLUX_CALL_FAILED', `${place}: the answer is ${status}.`)
    this.status = status
    this.body = body
    if (after !== undefined) this.after = after
  }
}

async function failureOf(
  place: string,
  response: Response,
  { clock }: HttpContext,
): Promise<AnswerError> {
  const { status, headers } = response
  const asked = headers.get('retry-after')
  // A date means the sender's clock, and ours may differ from it.
  const now = parseHttpDate(headers.get('date') ?? '') ?? clock.now()
  const after = asked === null ? undefined : parseRetryAfter(asked, now)
  return new AnswerError(place, status, await beginningOf(response), after)
}

const mostOfBody = 1_000

async function beginningOf({ body }: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  // Leaving the loop cancels the rest.
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length >= mostOfBody) break
  }
  return text.slice(0, mostOfBody)
}
