import { isUtf8 } from 'node:buffer'
import { errorText } from '../../errors.ts'
import { type InputRecord, type InputRecords, LineProblem } from './input-record.ts'
import { findField } from './json-field.ts'
import { type Line, splitLines } from './split-lines.ts'

export interface JsonRecordOptions {
  /** The field whose text becomes the key. */
  readonly key: string | undefined
  /** How many records to pass over. */
  readonly skip: number
}

/** The records of an NDJSON stream: each line is checked and passed on byte for byte. Blank lines are passed over. */
export async function* jsonRecords(
  chunks: AsyncIterable<Buffer>,
  { key, skip }: JsonRecordOptions,
): InputRecords {
  let passed = 0
  for await (const lines of splitLines(chunks)) {
    const records: InputRecord[] = []
    for (const line of lines) {
      if (isBlank(line.bytes)) continue
      passed += 1
      if (passed <= skip) continue
      const record = readLine(line, key)
      if (record instanceof LineProblem) {
        yield records
        throw record
      }
      records.push(record)
    }
    yield records
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}

function readLine(
  { number, bytes, isEnded }: Line,
  key: string | undefined,
): InputRecord | LineProblem {
  if (!isUtf8(bytes))
    return new LineProblem(number, { expected: 'UTF-8 text', found: 'other bytes' })
  const text = bytes.toString('utf8')
  try {
    JSON.parse(text)
  } catch (error) {
    const cut = isEnded ? '' : '; no line feed ends the line, so the file may be cut off'
    return new LineProblem(number, { expected: 'JSON', found: `${jsonProblem(error)}${cut}` })
  }
  if (key === undefined) return { line: number, key: null, value: bytes }
  const keyText = readKey(findField(text, key))
  if (keyText !== undefined) return { line: number, key: Buffer.from(keyText), value: bytes }
  return new LineProblem(number, {
    expected: `an object whose field '${key}' is a text, a number, true or false`,
    found: 'none',
  })
}

/** V8's text, without the part that quotes the line: lines may be long, and may hold what is not to be logged. */
function jsonProblem(error: unknown): string {
  return errorText(error).replace(/,? ?(?:\.\.\.)?"[\s\S]*" is not valid JSON$/, '')
}

/** The key's text; a number keeps its digits as they are written, since 1e3 and 9007199254740993 would come out changed. */
function readKey(raw: string | undefined): string | undefined {
  if (raw === undefined || raw === 'null' || raw.startsWith('{') || raw.startsWith('['))
    return undefined
  if (!raw.startsWith('"')) return raw
  const text = JSON.parse(raw) as string
  return text.isWellFormed() ? text : undefined
}
