/**
 * One text for all that a collation without regard to case, accents or trailing blanks takes for the same. It may be one
 * for some that it does not.
 */
export function roughText(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toUpperCase().trimEnd()
}

/** One for all: of some types nobody knows by the text what is the same. */
export function anyText(): string {
  return ''
}
