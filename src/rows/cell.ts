import { shown } from '../errors.ts'
import type { BadText } from '../ports/target.ts'
import { cleanJson, cleanText } from './clean-text.ts'
import { refused } from './refused.ts'

/** What a column takes, as far as it matters for writing it exactly. */
export type Kind =
  | 'integer'
  | 'decimal'
  | 'float'
  | 'boolean'
  | 'text'
  | 'bytes'
  | 'json'
  | 'timestamp'
  | 'array'
  | 'other'

/** A column of a live table. */
export interface Column {
  readonly name: string
  readonly kind: Kind
  /** Digits behind the point, of a decimal; undefined: as many as there are. */
  readonly scale?: number | undefined
  /** How texts that are the same to the database become one; undefined: only equal ones are. */
  readonly sameAs?: ((text: string) => string) | undefined
  /** A new row cannot do without a value for it. */
  readonly isRequired: boolean
}

/** A value as it goes to the database: text, bytes for columns of bytes, null; undefined leaves the column alone. */
export type Cell = string | Uint8Array | null | undefined

const integer = /^[+-]?\d+$/
const decimal = /^[+-]?(?:\d+(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?$/

/**
 * Writes a value as text that the database reads as exactly the same.
 * @throws POLLUX_ROW_REFUSED when there is none.
 */
export function toCell(value: unknown, column: Column, badText: BadText): Cell {
  if (value === undefined || value === null) return value
  if (column.kind === 'json') return jsonText(value, column, badText)
  if (column.kind === 'bytes') return bytesOf(value, column)
  if (column.kind === 'array' && Array.isArray(value)) return arrayText(value, column, badText)
  const text = cleanText(plainText(value, column), badText)
  if (column.kind === 'integer' && !integer.test(text))
    throw refused('a whole number', shown(value), column.name)
  if (column.kind === 'decimal') checkDecimal(text, column)
  return text
}

function plainText(value: unknown, column: Column): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'bigint':
      return String(value)
    case 'boolean':
      return column.kind === 'integer' ? String(Number(value)) : String(value)
    case 'number':
      return column.kind === 'integer' ? wholeText(value, column) : String(value)
    default:
      if (value instanceof Date) return dateText(value, column)
      if (value instanceof Uint8Array) return utf8Text(value, column)
      throw refused(`a ${column.kind} value`, shown(value), column.name)
  }
}

/** A double above 2^53 has been rounded already, and nobody knows from what. */
function wholeText(value: number, column: Column): string {
  if (Number.isSafeInteger(value)) return String(value)
  throw refused('a whole number of at most 2^53 - 1, else a bigint', shown(value), column.name)
}

function dateText(value: Date, column: Column): string {
  if (!Number.isNaN(value.getTime())) return value.toISOString()
  throw refused('a date', 'an invalid one', column.name)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function utf8Text(value: Uint8Array, column: Column): string {
  try {
    return utf8.decode(value)
  } catch {
    throw refused('text in UTF-8', `${value.length} other bytes`, column.name)
  }
}

function bytesOf(value: unknown, column: Column): Uint8Array {
  if (value instanceof Uint8Array) return value
  if (typeof value === 'string') return Buffer.from(value)
  throw refused('bytes', shown(value), column.name)
}

/** Bytes are JSON already: so a message's own go through without a number in them being read. */
function jsonText(value: unknown, column: Column, badText: BadText): string {
  if (value instanceof Uint8Array) return cleanJson(utf8Text(value, column), badText)
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch {
    // Told below.
  }
  if (text === undefined) throw refused('what JSON can hold', shown(value), column.name)
  return cleanJson(text, badText)
}

function arrayText(values: readonly unknown[], column: Column, badText: BadText): string {
  const texts = values.map((value) => {
    if (value === null || value === undefined) return 'null'
    if (Array.isArray(value)) return arrayText(value, column, badText)
    return `"${cleanText(plainText(value, column), badText).replaceAll(/["\\]/g, '\\$&')}"`
  })
  return `{${texts.join(',')}}`
}

/** Databases round what has more digits behind the point than the column, and say nothing. */
function checkDecimal(text: string, { name, scale }: Column): void {
  const matched = decimal.exec(text)
  if (matched === null) throw refused('a decimal number', shown(text), name)
  if (scale === undefined) return
  const fraction = matched[1] ?? matched[2] ?? ''
  const exponent = Number(matched[3] ?? 0)
  if (fraction.length - exponent <= scale) return
  // Zeros at the end count for nothing.
  if (fraction.replace(/0+$/, '').length - exponent <= scale) return
  throw refused(`at most ${scale} digits behind the point`, shown(text), name)
}

/** What tells one row from another: the same for keys that the database takes for the same. */
export function keyText(cells: readonly Cell[], columns: readonly Column[]): string {
  const [first, second] = columns
  if (first !== undefined && second === undefined)
    return `[${JSON.stringify(canonical(cells[0], first))}]`
  return JSON.stringify(cells.map((cell, index) => canonical(cell, columns[index] as Column)))
}

function canonical(cell: Cell, { kind }: Column): string | null {
  if (cell instanceof Uint8Array) return Buffer.from(cell).toString('hex')
  if (cell === undefined || cell === null) return null
  if (kind === 'integer') return String(BigInt(cell.replace(/^\+/, '')))
  return kind === 'decimal' ? canonicalDecimal(cell) : cell
}

function canonicalDecimal(text: string): string {
  const [digits = '', exponent = '0'] = text.toLowerCase().replace(/^\+/, '').split('e')
  const [whole = '', fraction = ''] = digits.replace('-', '').split('.')
  const significant = (whole + fraction).replace(/^0+/, '')
  const trimmed = significant.replace(/0+$/, '')
  if (trimmed === '') return '0'
  const power = Number(exponent) - fraction.length + significant.length - trimmed.length
  return `${digits.startsWith('-') ? '-' : ''}${trimmed}e${power}`
}

/** Rougher: keys that the database might take for the same. */
export function roughKeyText(cells: readonly Cell[], columns: readonly Column[]): string {
  return keyText(
    cells.map((cell, index) => {
      const { sameAs } = columns[index] as Column
      return typeof cell === 'string' && sameAs !== undefined ? sameAs(cell) : cell
    }),
    columns,
  )
}
