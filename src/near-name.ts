/** The known name that was probably meant: equal but for case, or at most two letters away; undefined when none is. */
export function nearName(name: string, known: readonly string[]): string | undefined {
  const given = name.toLowerCase()
  // Of a short name two letters are most of it.
  const limit = Math.min(2, Math.floor(given.length / 2))
  const near = known
    .map((other) => ({ other, distance: distanceBetween(given, other.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((a, b) => a.distance - b.distance)
  return near[0]?.other
}

/** How many letters have to be put in, taken out, or replaced; two neighbours swapped count as one. */
function distanceBetween(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const next = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1]
      const isSwap = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      next[column] = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = next
  }
  return last[b.length] ?? 0
}
