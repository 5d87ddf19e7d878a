/** One record read from a file. */
export interface InputRecord {
  /** The line it begins on, from 1. */
  readonly line: number
  readonly key: Buffer | null
  readonly value: Buffer
}

/** Why a line cannot become a record. Those before it can. */
export class LineProblem extends Error {
  readonly line: number
  readonly expected: string
  readonly found: string

  constructor(line: number, problem: { readonly expected: string; readonly found: string }) {
    super(`line ${line}: expected ${problem.expected}, found ${problem.found}`)
    this.line = line
    this.expected = problem.expected
    this.found = problem.found
  }
}

/**
 * Records as they become ready, many at a time. A LineProblem is thrown only after all records before it were
 * handed out.
 */
export type InputRecords = AsyncIterable<readonly InputRecord[]>

/** The longest line or row, in bytes: what has no end must not fill the memory. */
export const longestLine: number = 16 * 1024 ** 2
