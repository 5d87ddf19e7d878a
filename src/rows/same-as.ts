import type { Column, Kind } from './cell.ts'

const isoDate = /^\d{4}-\d\d-\d\d$/
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/**
 * How keys of a type become one text where they are one to the database. Of some types only texts of one form can be told
 * from each other.
 */
export function sameAs(type: string, kind: Kind): Column['sameAs'] {
  if (kind === 'integer' || kind === 'decimal' || kind === 'bytes') return undefined
  if (type === 'uuid') return (text) => text.toLowerCase().replaceAll(/[{}-]/g, '')
  if (type === 'date') return (text) => (isoDate.test(text) ? text : '')
  if (kind === 'timestamp') return (text) => (isoTime.test(text) ? text : '')
  return kind === 'text' ? roughText : () => ''
}

const ascii = /^[\x20-\x7e]*$/

/**
 * One text for all that a collation without regard to case, accents or trailing blanks takes for the same. It may be one
 * for some that it does not.
 */
function roughText(text: string): string {
  if (ascii.test(text)) return text.toUpperCase().trimEnd()
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toUpperCase().trimEnd()
}
