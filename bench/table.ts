/** A column of a table: its heading, and how it is shown for each row. */
export interface Column<Row> {
  readonly heading: string
  show(row: Row): string
}

/** Prints rows below each other, the first column to the left, the others to the right. */
export function printTable<Row>(
  title: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): void {
  const lines = [
    columns.map(({ heading }) => heading),
    ...rows.map((row) => columns.map(({ show }) => show(row))),
  ]
  const widths = columns.map((_, index) =>
    Math.max(...lines.map((line) => line[index]?.length ?? 0)),
  )
  console.log(`\n${title}`)
  for (const line of lines) {
    const cells = line.map((cell, index) =>
      index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0),
    )
    console.log(cells.join('   '))
  }
}

export function median(values: readonly number[]): number {
  return percentile(values, 50)
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))
  return sorted[place] ?? Number.NaN
}

/**
 * The median of each round's own ratio to the baseline: rounds lie apart in time, and a machine is not equally fast at
 * all times.
 */
export function medianRatio(values: readonly number[], baseline: readonly number[]): number {
  return median(values.map((value, round) => value / (baseline[round] ?? Number.NaN)))
}
