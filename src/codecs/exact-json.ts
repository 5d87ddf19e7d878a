import { PolluxError } from '../errors.ts'

// A number of fewer than 16 digits, with an exponent of one or two digits, survives the way through a double.
const suspicious = /\d[\d.]{15}|\d[eE][+-]?\d{3}/

/**
 * Parses JSON, and refuses a number that a double cannot hold: `9007199254740993` would become another id without
 * anybody noticing.
 * @throws POLLUX_DECODE_FAILED for such numbers; SyntaxError for what is not JSON.
 */
export function parseExactly(text: string): unknown {
  return suspicious.test(text) ? JSON.parse(text, refuseRounded) : JSON.parse(text)
}

function refuseRounded(
  key: string,
  value: unknown,
  context?: { readonly source?: string },
): unknown {
  if (
    typeof value === 'number' &&
    context?.source !== undefined &&
    isRounded(context.source, value)
  ) {
    throw new PolluxError('POLLUX_DECODE_FAILED', `The number at '${key}' would be rounded.`, {
      expected: 'a number that a double holds exactly',
      found: `${context.source.slice(0, 60)}, which would become ${value}`,
      hint: "Send such numbers as text, or accept the rounding: json(schema, { numbers: 'double' }).",
    })
  }
  return value
}

/** Whether the double's own text stands for another number than `source`. */
function isRounded(source: string, value: number): boolean {
  return !Number.isFinite(value) || canonical(source) !== canonical(String(value))
}

const decimal = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** A decimal number as sign, digits without zeros at either end, and the power of ten behind them. */
function canonical(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = decimal.exec(source) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const power = Number(exponent) - fraction.length + digits.length - significant.length
  return `${sign}${significant}e${power}`
}
