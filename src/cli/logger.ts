import { styleText } from 'node:util'
import { pino } from 'pino'
import type { Logger } from '../ports/logger.ts'
import { scrubSecrets } from './secrets.ts'
import type { LogLevel } from './settings/settings.ts'
import { escapeControls } from './text-table.ts'

export interface LoggerOptions {
  readonly level: LogLevel
  /** One readable line each instead of JSON. */
  readonly pretty: boolean
  /** Which worker process this is, if there are several. */
  readonly worker?: string | undefined
  /** Takes whole lines. Default: stderr. */
  readonly write?: (line: string) => void
}

/** Log lines to stderr: JSON for machines, one readable line for a terminal. No known secret passes. */
export function createLogger({
  level,
  pretty,
  worker,
  write = writeToStderr,
}: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: worker === undefined ? null : { worker },
      messageKey: 'message',
      errorKey: 'error',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => write(scrubSecrets(pretty ? prettyLine(line) : line)) },
  )
}

function writeToStderr(line: string): void {
  process.stderr.write(line)
}

const styles = { debug: 'dim', info: 'green', warn: 'yellow', error: 'red' } as const

/** `12:01:02.003 warn  A sentence.  topic=orders partition=3` from a JSON log line. */
export function prettyLine(line: string): string {
  const { level, time, message, error, ...fields } = JSON.parse(line) as Record<string, unknown>
  const style = styles[level as keyof typeof styles] ?? 'dim'
  const clock = String(time).slice(11, 23)
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${shownField(value)}`)
  if (error !== undefined)
    rest.push(`error=${shownField((error as { readonly message?: unknown }).message ?? error)}`)
  const head = `${colour('dim', clock)} ${colour(style, String(level).padEnd(5))} ${escapeControls(String(message ?? ''))}`
  return rest.length === 0
    ? `${head}\n`
    : `${head}  ${colour('dim', escapeControls(rest.join(' ')))}\n`
}

function shownField(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
}

function colour(format: 'dim' | 'green' | 'yellow' | 'red', text: string): string {
  return styleText(format, text, { stream: process.stderr })
}
