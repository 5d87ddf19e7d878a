import { PolluxError } from '../errors.ts'
import type { RowChange, RowShape } from '../ports/target.ts'
import { type Column, toCell } from '../rows/cell.ts'
import { refused } from '../rows/refused.ts'

/** How an entry is kept. */
export type CacheForm = 'hash' | 'json'

/** What a script is called with. */
export interface CacheCall {
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
  /** The places of the changes that are in it. */
  readonly places: readonly number[]
}

/** Writes changes as the arguments of the script. */
export class CacheArguments {
  readonly #shape: RowShape
  readonly #form: CacheForm
  readonly #prefix: string

  constructor(shape: RowShape, form: CacheForm, prefix: string) {
    this.#shape = shape
    this.#form = form
    this.#prefix = prefix
  }

  /** What cannot be written is noted in `refusals`. */
  of(changes: readonly RowChange[], refusals: (PolluxError | undefined)[]): CacheCall {
    const entries = new Map<string, number>()
    const args: (string | Buffer)[] = []
    const places: number[] = []
    for (const [place, change] of changes.entries()) {
      try {
        const key = this.#keyOf(change)
        const written = this.#written(change)
        const entry = entries.get(key) ?? entries.size + 1
        entries.set(key, entry)
        args.push(String(entry), ...written)
        places.push(place)
      } catch (error) {
        if (!PolluxError.is(error)) throw error
        refusals[place] = error
      }
    }
    const keys = [...entries.keys()].flatMap((key) => [
      `${this.#prefix}${key}`,
      `pollux:versions:${this.#shape.owner}:${this.#prefix}${key}`,
    ])
    return { keys, args, places }
  }

  /** Several columns are joined by colons; one within them is written as `%3A`. */
  #keyOf({ key }: RowChange): string {
    const texts = key.map((value, index) => {
      const cell = toCell(value, plain(this.#shape.key[index] ?? ''), this.#shape.badText)
      if (typeof cell !== 'string') throw refused('a key', 'none', this.#shape.key[index])
      return cell
    })
    if (texts.length === 1) return texts[0] ?? ''
    return texts.map((text) => text.replaceAll('%', '%25').replaceAll(':', '%3A')).join(':')
  }

  #written({ values, versions, topic, partition, offset }: RowChange): (string | Buffer)[] {
    const { groups } = this.#shape
    const sorted = groups.map(({ version }, group) =>
      version === undefined ? '-' : sortable(versions[group]),
    )
    const fields =
      values === undefined
        ? []
        : this.#form === 'json'
          ? [this.#document(values)]
          : this.#fields(values)
    return [
      values === undefined ? 'd' : 'u',
      `${topic}/${partition}`,
      String(offset).padStart(20, '0'),
      String(groups.length),
      ...sorted,
      String(fields.length),
      ...fields.flat(),
    ]
  }

  #fields(values: readonly unknown[]): (string | Buffer)[][] {
    const { columns, groups, badText } = this.#shape
    return values.flatMap((value, index) => {
      const name = columns[index] ?? ''
      const group = String(1 + groups.findIndex((one) => one.columns.includes(name)))
      const column = value instanceof Uint8Array ? bytesOf(name) : plain(name)
      const cell =
        typeof value === 'object' && !isScalar(value)
          ? toCell(value, document(name), badText)
          : toCell(value, column, badText)
      if (cell === undefined) return []
      if (cell === null) return [[group, name, '0']]
      return [[group, name, '=', typeof cell === 'string' ? cell : Buffer.from(cell)]]
    })
  }

  /** The whole entry as JSON. Whole numbers of any size are written exactly, and bytes are JSON already. */
  #document(values: readonly unknown[]): string[] {
    const { columns, badText } = this.#shape
    const members = values.flatMap((value, index) => {
      if (value === undefined) return []
      const name = columns[index] ?? ''
      const text =
        value === null
          ? 'null'
          : typeof value === 'bigint'
            ? String(value)
            : toCell(value, document(name), badText)
      return [`${JSON.stringify(name)}:${String(text)}`]
    })
    return ['1', 'document', '=', `{${members.join(',')}}`]
  }
}

function isScalar(value: object | null): boolean {
  return value === null || value instanceof Date || value instanceof Uint8Array
}

const column = { isRequired: false } as const

function plain(name: string): Column {
  return { ...column, name, kind: 'other' }
}

function bytesOf(name: string): Column {
  return { ...column, name, kind: 'bytes' }
}

function document(name: string): Column {
  return { ...column, name, kind: 'json' }
}

const digits = 40

/**
 * A version as a text that sorts like the number, as the script would round large ones.
 * @throws POLLUX_ROW_REFUSED for one that is no whole number.
 */
function sortable(version: number | bigint | undefined): string {
  if (version === undefined) return ''
  if (typeof version === 'number' && !Number.isSafeInteger(version))
    throw refused('a version that is a whole number, a bigint from 2^53 on', String(version))
  const number = BigInt(version)
  if (number >= 0n) return `1${String(number).padStart(digits, '0')}`
  // The further below zero, the smaller.
  return `0${String(10n ** BigInt(digits) + number).padStart(digits, '0')}`
}
