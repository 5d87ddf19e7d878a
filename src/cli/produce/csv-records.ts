import { CsvError, type InfoRecord, type Parser, parse } from 'csv-parse'
import { errorText, PolluxError } from '../../errors.ts'
import { nearName } from '../../near-name.ts'
import { type InputRecord, type InputRecords, LineProblem, longestLine } from './input-record.ts'

export interface CsvRecordOptions {
  /** The column whose text becomes the key. */
  readonly key: string | undefined
  /** Columns that are written as JSON numbers. */
  readonly numbers: readonly string[]
  /** How many rows to pass over, the header row not counted. */
  readonly skip: number
}

/**
 * The records of a CSV stream with a header row: each row as a JSON object whose members are texts, or numbers with
 * the digits they have in the file.
 * @throws LineProblem for a wrong row; POLLUX_OPTION_INVALID when a column of `options` is not in the header row.
 */
export async function* csvRecords(
  chunks: AsyncIterable<Buffer>,
  options: CsvRecordOptions,
): InputRecords {
  const rows = new Rows(options)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const chunk of chunks) {
    yield* rows.take(() => rows.write(decoder.decode(chunk, { stream: true })))
  }
  yield* rows.take(() => rows.end(decoder.decode()))
}

/** Parses text piece by piece and keeps the rows that are ready, so that an error takes none of those before it away. */
class Rows {
  readonly #options: CsvRecordOptions
  readonly #parser: Parser
  #header: Header | undefined
  #passed = 0
  #lastLine = 1
  #ready: InputRecord[] = []
  #problem: LineProblem | PolluxError | undefined

  constructor(options: CsvRecordOptions) {
    this.#options = options
    this.#parser = parse({
      skip_empty_lines: true,
      max_record_size: longestLine,
      // Returning null keeps rows out of the parser's own queue, which an error would empty.
      on_record: (cells: string[], info: InfoRecord) => {
        this.#add(cells, info.lines)
        return null
      },
    })
    // Errors come by the callbacks of `write` and `end`.
    this.#parser.on('error', () => {})
    this.#parser.resume()
  }

  /** Runs a step and hands out what is ready, then throws what went wrong. */
  async *take(step: () => Promise<void>): AsyncGenerator<readonly InputRecord[]> {
    let problem: Error | undefined
    try {
      await step()
    } catch (error) {
      problem = this.#explain(error)
    }
    yield this.#ready.splice(0)
    if (this.#problem !== undefined) throw this.#problem
    if (problem !== undefined) throw problem
  }

  write(text: string): Promise<void> {
    return this.#settle((done) => this.#parser.write(text, done))
  }

  async end(text: string): Promise<void> {
    await this.#settle((done) => this.#parser.end(text, () => done(this.#parser.errored)))
  }

  #settle(start: (done: (error?: Error | null) => void) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    // When the last step fails, Node calls no callback but emits the error.
    this.#parser.once('error', reject)
    start((error) => {
      this.#parser.off('error', reject)
      if (error) reject(error)
      else resolve()
    })
    return promise
  }

  #add(cells: readonly string[], line: number): void {
    if (this.#problem !== undefined) return
    this.#lastLine = line
    try {
      if (this.#header === undefined) {
        this.#header = readHeader(cells, line, this.#options)
        return
      }
      this.#passed += 1
      if (this.#passed > this.#options.skip) this.#ready.push(readRow(this.#header, cells, line))
    } catch (error) {
      if (!(error instanceof LineProblem) && !PolluxError.is(error)) throw error
      this.#problem = error
    }
  }

  #explain(error: unknown): Error {
    if (error instanceof CsvError) {
      const line = (error as { readonly lines?: number }).lines ?? this.#lastLine
      return new LineProblem(line, {
        expected: 'CSV with as many cells as the header row',
        found: csvProblem(error),
      })
    }
    if (
      error instanceof TypeError &&
      (error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
    ) {
      return new LineProblem(this.#lastLine, {
        expected: 'UTF-8 text',
        found: 'other bytes at or after this line',
      })
    }
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** The parser's text without the row that it quotes. */
function csvProblem(error: CsvError): string {
  const text = errorText(error).split(/:|, value is/)[0] ?? ''
  return `${text.trim()} (${error.code})`
}

interface Header {
  /** `"name":` of each column, ready to be put into an object. */
  readonly members: readonly string[]
  readonly names: readonly string[]
  readonly numeric: readonly boolean[]
  readonly key: number | undefined
}

function readHeader(
  cells: readonly string[],
  line: number,
  { key, numbers }: CsvRecordOptions,
): Header {
  const repeated = cells.find((cell, index) => cell === '' || cells.indexOf(cell) !== index)
  if (repeated !== undefined) {
    const found = repeated === '' ? 'a column without a name' : `'${repeated.slice(0, 60)}' twice`
    throw new LineProblem(line, {
      expected: 'a header row with a different name for each column',
      found,
    })
  }
  if (key !== undefined && !cells.includes(key)) throw unknownColumn('--key', key, cells)
  const missing = numbers.find((name) => !cells.includes(name))
  if (missing !== undefined) throw unknownColumn('--numbers', missing, cells)
  return {
    names: cells,
    members: cells.map((cell) => `${JSON.stringify(cell)}:`),
    numeric: cells.map((cell) => numbers.includes(cell)),
    key: key === undefined ? undefined : cells.indexOf(key),
  }
}

/** Nothing is wrong with the file then, and no line of it can be mended. */
function unknownColumn(flag: string, name: string, cells: readonly string[]): PolluxError {
  const near = nearName(name, cells)
  return new PolluxError(
    'POLLUX_OPTION_INVALID',
    `${flag}: the header row has no column '${name}'.`,
    {
      found: `the columns ${cells.slice(0, 20).join(', ')}`,
      ...(near === undefined ? {} : { hint: `Did you mean ${near}?` }),
    },
  )
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

function readRow(
  { members, names, numeric, key }: Header,
  cells: readonly string[],
  line: number,
): InputRecord {
  // Built by hand: an object would put columns named 1, 2, 3 first and lose one named __proto__.
  const parts = cells.map((cell, index) => {
    if (numeric[index] !== true) return `${members[index]}${JSON.stringify(cell)}`
    if (cell === '') return `${members[index]}null`
    if (jsonNumber.test(cell)) return `${members[index]}${cell}`
    throw new LineProblem(line, {
      expected: `a number in column '${names[index]}'`,
      found: `'${cell.slice(0, 60)}'`,
    })
  })
  return {
    line,
    key: key === undefined ? null : Buffer.from(cells[key] ?? ''),
    value: Buffer.from(`{${parts.join(',')}}`),
  }
}
