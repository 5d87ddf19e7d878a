/** A gate: its row in the table, as it is worked on within a transaction. Times are in milliseconds since 1970. */
export interface Row {
  readonly key: string
  /** When each fact came, in the order of the facts; null: not yet. */
  readonly came: (number | null)[]
  /** What was kept of each fact; undefined where nothing is. */
  readonly kept: unknown[]
  openedAt: number | null
  expiresAt: number | null
  expiredAt: number | null
  /** Whether it has to be written. */
  hasChanged: boolean
}

/** How a gate stands at a moment: it expires at its deadline, whether or not anybody has looked since. */
export function stageOf(row: Row, now: number): 'waiting' | 'due' | 'opened' | 'expired' {
  if (row.openedAt !== null) return 'opened'
  if (row.expiredAt !== null) return 'expired'
  return row.expiresAt !== null && row.expiresAt <= now ? 'due' : 'waiting'
}

export function isComplete({ came }: Row): boolean {
  return came.every((at) => at !== null)
}

/** Stores a fact; what came first keeps its time, what was kept last stands. */
export function note(row: Row, index: number, kept: unknown, now: number): void {
  row.came[index] ??= now
  row.kept[index] = kept
  row.hasChanged = true
}

/** Begins the gate anew. */
export function reset(row: Row, expiresAt: number | null): void {
  row.came.fill(null)
  row.kept.fill(undefined)
  Object.assign(row, { openedAt: null, expiredAt: null, expiresAt, hasChanged: true })
}
