/** How what was found differs from what was expected, as lines; undefined when it does not. */
export function difference(what: string, expected: unknown, found: unknown): string | undefined {
  const [wanted, got] = [textOf(expected), textOf(found)]
  return wanted === got ? undefined : `${what}:\n    expected ${wanted}\n    found    ${got}`
}

/** The same for all that is expected, by name. */
export function differences(
  what: string,
  expected: ReadonlyMap<string, unknown>,
  found: ReadonlyMap<string, unknown>,
): readonly string[] {
  return [...expected].flatMap(
    ([name, value]) => difference(`${what} ${name}`, value, found.get(name)) ?? [],
  )
}

/** JSON with sorted names. */
function textOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
