import type { BadText } from '../ports/target.ts'
import { refused } from './refused.ts'

const replacement = '\u{FFFD}'

/**
 * Text without what databases cannot store. A pair of surrogates is one character and stays; the six visible characters
 * `\u0000` are none of our business.
 * @throws POLLUX_ROW_REFUSED
 */
export function cleanText(text: string, policy: BadText): string {
  if (text.isWellFormed() && !text.includes('\0')) return text
  if (policy === 'refuse') throw refused('text without NUL and with whole characters', 'another')
  return text.toWellFormed().replaceAll('\0', replacement)
}

// Each escape whole, so that a backslash which is escaped itself begins none; a pair of surrogates counts as one.
const escape = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u(....)|.)/g
const broken = /^(?:0000|[dD][89a-fA-F]..)$/

/** The same for JSON, where they may stand as escapes. */
export function cleanJson(text: string, policy: BadText): string {
  const escaped = text.includes('\\')
    ? text.replaceAll(escape, (found, code: string | undefined) =>
        code !== undefined && broken.test(code) ? cleanText('\0', policy) : found,
      )
    : text
  return cleanText(escaped, policy)
}
