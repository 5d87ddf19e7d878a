import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import { errorText, PolluxError } from '../../errors.ts'

export type InputFormat = 'ndjson' | 'csv'

/** An input that is open for reading. */
export interface Input {
  /** For messages. */
  readonly name: string
  readonly format: InputFormat
  /** In bytes; undefined for stdin and pipes. */
  readonly size: number | undefined
  /** How much was read so far, in bytes. */
  readonly bytesRead: number
  chunks(): AsyncIterable<Buffer>
}

const formatByExtension: Readonly<Record<string, InputFormat>> = {
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
}

/**
 * Opens a file, or stdin for `-`. `stop` ends the reading with an AbortError.
 * @throws POLLUX_FILE_INVALID when there is nothing to read, or nothing says in which format it is.
 */
export async function openInput(
  path: string,
  format: InputFormat | undefined,
  stop: AbortSignal,
): Promise<Input> {
  if (path === '-')
    return countingInput('stdin', format ?? 'ndjson', undefined, () =>
      addAbortSignal(stop, process.stdin),
    )
  const extension = /\.[^./]*$/.exec(path)?.[0].toLowerCase() ?? ''
  const known = format ?? formatByExtension[extension]
  if (known === undefined) {
    throw new PolluxError(
      'POLLUX_FILE_INVALID',
      `The name of the file ${path} does not say its format.`,
      {
        expected: Object.keys(formatByExtension).join(', '),
        hint: 'Say it with --format ndjson or --format csv.',
      },
    )
  }
  const size = await sizeOf(path)
  return countingInput(path, known, size, () => addAbortSignal(stop, createReadStream(path)))
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path)
    if (!found.isDirectory()) return found.isFile() ? found.size : undefined
  } catch (cause) {
    throw new PolluxError('POLLUX_FILE_INVALID', `The file ${path} cannot be read.`, {
      found: errorText(cause),
      cause,
    })
  }
  throw new PolluxError('POLLUX_FILE_INVALID', `The file ${path} cannot be read.`, {
    found: 'a folder',
  })
}

function countingInput(
  name: string,
  format: InputFormat,
  size: number | undefined,
  open: () => Readable,
): Input {
  let bytesRead = 0
  return {
    name,
    format,
    size,
    get bytesRead() {
      return bytesRead
    },
    async *chunks() {
      try {
        for await (const chunk of open() as AsyncIterable<Buffer>) {
          bytesRead += chunk.length
          yield chunk
        }
      } catch (cause) {
        if ((cause as Error).name === 'AbortError') throw cause
        throw new PolluxError('POLLUX_FILE_INVALID', `The input ${name} cannot be read.`, {
          found: errorText(cause),
          cause,
        })
      }
    },
  }
}
