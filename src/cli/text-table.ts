/** One column of a table: its heading, and whether its cells are numbers. */
export interface Column {
  readonly heading: string
  readonly align?: 'left' | 'right'
}

/** Rows as text in columns, headings first, each line ending with a line feed. Cells are shown without control characters. */
export function textTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): string {
  const cells = [
    columns.map((column) => column.heading),
    ...rows.map((row) => row.map((cell) => escapeControls(cell))),
  ]
  const widths = columns.map((_, index) =>
    cells.reduce((most, row) => Math.max(most, row[index]?.length ?? 0), 0),
  )
  return cells.map((row) => `${row.map(padded).join('  ').trimEnd()}\n`).join('')

  function padded(cell: string, index: number): string {
    const width = widths[index] ?? 0
    return columns[index]?.align === 'right' ? cell.padStart(width) : cell.padEnd(width)
  }
}

// C0 and C1 controls, DEL, and the marks that reverse the direction of a line.
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Makes control characters visible: what a record or an error holds must not steer the terminal. */
export function escapeControls(
  text: string,
  { keepLines = false }: { readonly keepLines?: boolean } = {},
): string {
  return text.replace(controls, (control) => {
    if (keepLines && (control === '\n' || control === '\t')) return control
    return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** `1234567` as `1,234,567`, the same on every machine. */
export function formatNumber(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 })
}
