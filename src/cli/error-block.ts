import { styleText } from 'node:util'
import { errorText, PolluxError } from '../errors.ts'
import { scrubSecrets } from './secrets.ts'
import { escapeControls } from './text-table.ts'

export interface ErrorBlockOptions {
  readonly environment?: NodeJS.ProcessEnv
  /** Stands before the error's own text. Default: nothing. */
  readonly lead?: string
}

/**
 * An error as one readable block for stderr: what is wrong, what to do, the code. The stack comes only with
 * `POLLUX_DEBUG=1`; a known secret never does.
 */
export function errorBlock(
  error: unknown,
  { environment = process.env, lead = '' }: ErrorBlockOptions = {},
): string {
  const lines = PolluxError.is(error)
    ? describePolluxError(error, lead)
    : describeOther(error, lead)
  if (environment['POLLUX_DEBUG'] === '1') lines.push('', plain(stackOf(error)))
  return `${lines.join('\n')}\n`
}

function describePolluxError(error: PolluxError, lead: string): string[] {
  const { hint } = error
  const message =
    hint !== undefined && error.message.endsWith(hint)
      ? error.message.slice(0, -hint.length)
      : error.message
  const lines = [`${label('error:', 'red')} ${plain(lead + message.trimEnd())}`]
  if (hint !== undefined) lines.push(`  ${label('hint:', 'cyan')} ${plain(hint)}`)
  lines.push(`  ${label('code:', 'dim')} ${error.code}`)
  return lines
}

function describeOther(error: unknown, lead: string): string[] {
  const name = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : ''
  return [
    `${label('error:', 'red')} ${plain(lead + name + errorText(error))}`,
    `  ${label('hint:', 'cyan')} Nothing in Pollux foresaw this error. POLLUX_DEBUG=1 shows where it comes from.`,
  ]
}

/** Without secrets, and without control characters that would steer the terminal. */
function plain(text: string): string {
  return scrubSecrets(escapeControls(text, { keepLines: true }))
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const own = error.stack ?? error.message
  return error.cause === undefined ? own : `${own}\ncaused by ${stackOf(error.cause)}`
}

function label(text: string, format: 'red' | 'cyan' | 'dim'): string {
  return styleText(format, text, { stream: process.stderr })
}
