import type { FileResult } from './run-file.ts'

/** What became of a part: its files' results, or why it was left out. */
export interface PartResult {
  readonly name: string
  readonly files: readonly FileResult[]
  readonly leftOut: string | undefined
}

/** The counts of some results. */
export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly seconds: number
}

/** Prints one file's line, and everything about it when it failed. */
export function reportFile(result: FileResult): void {
  const { passed, failed, skipped, seconds } = countOf([result])
  const mark = failed === 0 ? '✔' : '✖'
  const rest = `${failed > 0 ? `, ${failed} failed` : ''}${skipped > 0 ? `, ${skipped} skipped` : ''}`
  console.log(`  ${mark} test/${result.file}: ${passed} passed${rest} (${seconds.toFixed(1)} s)`)
  for (const skip of result.skips) console.log(`      skipped ${skip}`)
  if (failed === 0) return
  if (result.output !== '') console.log(`\n    It printed:\n${lastLines(result.output, 200)}`)
  for (const failure of result.failures) console.log(`\n    ✖ ${failure}`)
  console.log()
}

/** Prints the table of all parts and, as the last line, the sum. With `isStrict`, a part left out is a failure. */
export function reportAll(results: readonly PartResult[], isStrict: boolean): Counts {
  const rows = results.map((result) => [result.name, outcomeOf(result), reasonOf(result)])
  const all = countOf(results.flatMap(({ files }) => files))
  const leftOut = results.filter((result) => result.leftOut !== undefined).length
  const sum = { ...all, failed: all.failed + (isStrict ? leftOut : 0) }
  console.log(`\n${table([['part', 'ran / left out', 'reason'], ...rows])}\n`)
  if (leftOut > 0 && isStrict) console.log('REQUIRE=all: a part left out is a failure.\n')
  console.log(
    `${sum.passed} passed, ${sum.failed} failed${sum.skipped > 0 ? `, ${sum.skipped} skipped` : ''}`,
  )
  return sum
}

function countOf(files: readonly FileResult[]): Counts {
  const sum = (of: (file: FileResult) => number): number =>
    files.reduce((total, file) => total + of(file), 0)
  return {
    passed: sum(({ passed }) => passed),
    failed: sum(({ failures }) => failures.length),
    skipped: sum(({ skips }) => skips.length),
    seconds: sum(({ seconds }) => seconds),
  }
}

function outcomeOf({ files, leftOut }: PartResult): string {
  if (leftOut !== undefined) return 'left out'
  const { passed, failed, seconds } = countOf(files)
  return `ran: ${passed} passed, ${failed} failed (${seconds.toFixed(0)} s)`
}

function reasonOf({ files, leftOut }: PartResult): string {
  if (leftOut !== undefined) return leftOut
  const skipped = countOf(files).skipped
  return skipped === 0 ? '' : `${skipped} skipped, each with its reason above`
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(' | ')
      .trimEnd()
  const [head = [], ...body] = rows.map(line)
  return [head, '-'.repeat((widths[0] ?? 0) + (widths[1] ?? 0) + 12), ...body].join('\n')
}

function lastLines(text: string, count: number): string {
  return text
    .trimEnd()
    .split('\n')
    .slice(-count)
    .map((line) => `      ${line}`)
    .join('\n')
}
