import type { StandardSchemaV1 } from '@standard-schema/spec'
import { errorText, PolluxError, shown } from '../errors.ts'
import type { Codec } from './codec.ts'
import { parseExactly } from './exact-json.ts'
import { decodeUtf8 } from './text.ts'

export interface JsonOptions {
  /**
   * `exact` (default) refuses a number that a double would round; `double` rounds it as JSON.parse does. Choose
   * `double` for producers that print floating-point numbers with 17 digits, never for ids or money.
   */
  readonly numbers?: 'exact' | 'double'
}

/**
 * JSON checked by any Standard Schema (zod, valibot, arktype, …). Decoding gives the schema's output type, encoding
 * takes its input type and checks it, too: not every caller is a compiler's. A schema that checks asynchronously is
 * checked on decoding only.
 */
export function json<Schema extends StandardSchemaV1>(
  schema: Schema,
  options: JsonOptions = {},
): Codec<StandardSchemaV1.InferOutput<Schema>, StandardSchemaV1.InferInput<Schema>> {
  const { validate } = schema['~standard']
  const parse =
    options.numbers === 'double' ? (text: string): unknown => JSON.parse(text) : parseExactly
  return {
    name: 'json',
    nullable: false,
    decode(bytes) {
      const result = validate(parsed(bytes, parse))
      return result instanceof Promise ? result.then(valid) : valid(result)
    },
    encode(value) {
      const result = validate(value)
      // A promise would come too late for a handler's output; what it says shows when the message is read.
      if (result instanceof Promise) result.catch(() => {})
      else if (result.issues !== undefined) throw mismatch('POLLUX_ENCODE_FAILED', result.issues)
      return encode(value)
    },
  }

  type Output = StandardSchemaV1.InferOutput<Schema>
  function valid(result: StandardSchemaV1.Result<unknown>): Output {
    if (result.issues === undefined) return result.value as Output
    throw mismatch('POLLUX_DECODE_FAILED', result.issues)
  }
}

function mismatch(
  code: 'POLLUX_DECODE_FAILED' | 'POLLUX_ENCODE_FAILED',
  issues: readonly StandardSchemaV1.Issue[],
): PolluxError {
  return new PolluxError(code, 'The value does not match its schema.', {
    found: issues.map(described).join('; '),
  })
}

function parsed(bytes: Buffer, parse: (text: string) => unknown): unknown {
  const text = decodeUtf8(bytes)
  try {
    return parse(text)
  } catch (cause) {
    if (PolluxError.is(cause)) throw cause
    throw new PolluxError('POLLUX_DECODE_FAILED', 'The bytes are not JSON.', {
      found: bytes.length === 0 ? 'an empty value' : errorText(cause),
      cause,
    })
  }
}

function described(issue: StandardSchemaV1.Issue): string {
  const path = issue.path
    ?.map((part) => String(typeof part === 'object' ? part.key : part))
    .join('.')
  return path === undefined || path === '' ? issue.message : `${path}: ${issue.message}`
}

function encode(value: unknown): Buffer {
  const text = stringified(value)
  // JSON.stringify writes NaN and Infinity as null; only a text with a null in it can hide one.
  if (text === undefined || (text.includes('null') && holdsNonFinite(value))) {
    throw new PolluxError('POLLUX_ENCODE_FAILED', 'The value cannot be written as JSON.', {
      found: text === undefined ? shown(value) : 'NaN or an infinite number in it',
    })
  }
  return Buffer.from(text)
}

function stringified(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (cause) {
    throw new PolluxError('POLLUX_ENCODE_FAILED', 'The value cannot be written as JSON.', {
      found: errorText(cause),
      cause,
    })
  }
}

function holdsNonFinite(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsNonFinite)
}
