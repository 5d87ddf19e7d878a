import { LineProblem, longestLine } from './input-record.ts'

/** One line without its end (LF or CRLF). */
export interface Line {
  readonly number: number
  readonly bytes: Buffer
  /** False for a last line that no line feed ends: the file may be cut off there. */
  readonly isEnded: boolean
}

const lineFeed = 0x0a
const carriageReturn = 0x0d
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * The lines of a byte stream, chunk by chunk, in bounded memory. A byte order mark at the start is left out.
 * @throws LineProblem for a line longer than `longestLine`.
 */
export async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly Line[]> {
  let number = 0
  let parts: Buffer[] = []
  let length = 0
  for await (const chunk of chunks) {
    const lines: Line[] = []
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      number += 1
      const tail = chunk.subarray(start, end)
      const isTooLong = length + tail.length > longestLine
      if (isTooLong) yield lines
      if (isTooLong) throw tooLong(number)
      lines.push(line(number, parts.length === 0 ? tail : Buffer.concat([...parts, tail]), true))
      parts = []
      length = 0
      start = end + 1
    }
    const rest = chunk.subarray(start)
    parts.push(rest)
    length += rest.length
    yield lines
    if (length > longestLine) throw tooLong(number + 1)
  }
  if (length > 0) yield [line(number + 1, Buffer.concat(parts), false)]
}

function line(number: number, bytes: Buffer, isEnded: boolean): Line {
  const hasMark = number === 1 && bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark)
  const content = hasMark ? bytes.subarray(byteOrderMark.length) : bytes
  return {
    number,
    bytes: content.at(-1) === carriageReturn ? content.subarray(0, -1) : content,
    isEnded,
  }
}

function tooLong(number: number): LineProblem {
  return new LineProblem(number, {
    expected: `a line of at most ${longestLine / 1024 ** 2} MiB`,
    found: 'a longer one',
  })
}
