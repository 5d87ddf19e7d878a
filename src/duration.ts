import { PolluxError, shown } from './errors.ts'

/** A length of time: milliseconds, or a number with a unit: `'200ms' '30s' '5m' '2h' '7d'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const unitInMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const pattern = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/

/**
 * Milliseconds of a duration.
 * @throws POLLUX_DURATION_INVALID for anything else, negative and endless ones included.
 */
export function milliseconds(duration: Duration): number {
  const ms = typeof duration === 'number' ? duration : parsed(duration)
  if (ms === undefined || !Number.isFinite(ms) || ms < 0) {
    throw new PolluxError('POLLUX_DURATION_INVALID', 'This is not a duration.', {
      expected: "milliseconds as a number, or a text such as '200ms', '30s', '5m', '2h' or '7d'",
      found: shown(duration),
    })
  }
  return ms
}

/** Milliseconds as a person would write them: `4s`, `90s`, `5m`, `1500ms`, `7d`. */
export function durationText(ms: number): string {
  const units = ['d', 'h', 'm', 's'] as const
  const unit = units.find((one) => ms >= unitInMs[one] && ms % unitInMs[one] === 0)
  return unit === undefined ? `${ms}ms` : `${ms / unitInMs[unit]}${unit}`
}

function parsed(text: unknown): number | undefined {
  const match = typeof text === 'string' ? pattern.exec(text) : null
  if (match === null) return undefined
  return Number(match[1]) * unitInMs[match[2] as keyof typeof unitInMs]
}
