/**
 * The JSON text of a member of the outermost object, exactly as it is written; undefined when there is none. Of a
 * repeated name the last one counts, as with JSON.parse. `text` must be valid JSON: nothing is checked here.
 */
export function findField(text: string, name: string): string | undefined {
  let at = skipSpace(text, 0)
  if (text[at] !== '{') return undefined
  at = skipSpace(text, at + 1)
  let found: string | undefined
  while (text[at] === '"') {
    const nameEnd = skipString(text, at)
    const isWanted = JSON.parse(text.slice(at, nameEnd)) === name
    const valueStart = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const valueEnd = skipValue(text, valueStart)
    if (isWanted) found = text.slice(valueStart, valueEnd)
    at = skipSpace(text, valueEnd)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return found
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && ' \t\n\r'.includes(text[at] as string)) at += 1
  return at
}

/** The place after a JSON string that begins at `from`. */
function skipString(text: string, from: number): number {
  let at = from + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function skipValue(text: string, from: number): number {
  let depth = 0
  let at = from
  while (at < text.length) {
    const character = text[at] as string
    if (character === '"') {
      at = skipString(text, at)
      if (depth === 0) return at
      continue
    }
    if (depth === 0 && at > from && ',}] \t\n\r'.includes(character)) return at
    if (character === '{' || character === '[') depth += 1
    if (character === '}' || character === ']') depth -= 1
    at += 1
    if (depth === 0 && (character === '}' || character === ']')) return at
  }
  return at
}
