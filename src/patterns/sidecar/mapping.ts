import { PolluxError, shown } from '../../errors.ts'
import type { Message } from '../../message.ts'
import type { Problems } from '../../options.ts'
import type { RowChange, RowShape } from '../../ports/target.ts'
import type { AnyTopic } from '../../topic.ts'
import type { SidecarSettings } from './options.ts'

type Source = (message: Message) => unknown

interface ReadGroup {
  readonly columns: readonly string[]
  readonly sources: readonly Source[]
  readonly version: { readonly of: Source; readonly column: string | undefined } | undefined
}

/** As a definition is given, whatever its types. */
interface Given {
  readonly key?: unknown
  readonly columns?: unknown
  readonly version?: unknown
  readonly groups?: unknown
}

/** How messages become changes of rows. */
export class Mapping {
  readonly #key: readonly string[]
  readonly #groups: readonly ReadGroup[]
  readonly #inputs: readonly AnyTopic[]
  // Read for each message: lists, in the order of the shape.
  readonly #keySources: readonly Source[]
  readonly #sources: readonly Source[]
  readonly #versions: readonly (Source | undefined)[]

  constructor(
    key: ReadonlyMap<string, Source>,
    groups: readonly ReadGroup[],
    inputs: readonly AnyTopic[],
  ) {
    this.#key = [...key.keys()]
    this.#groups = groups
    this.#inputs = inputs
    this.#keySources = [...key.values()]
    this.#sources = groups.flatMap(({ sources }) => sources)
    this.#versions = groups.map(({ version }) => version?.of)
  }

  shape(owner: string, { tombstones, badText }: SidecarSettings): RowShape {
    return {
      owner,
      key: this.#key,
      columns: this.#groups.flatMap(({ columns }) => columns),
      groups: this.#groups.map(({ columns, version }) => ({
        columns,
        version: version && { column: version.column },
      })),
      isDeleting: tombstones === 'delete' && this.#inputs.some(({ value }) => value.nullable),
      badText,
    }
  }

  /** @throws whatever a source throws; POLLUX_ROW_REFUSED for a version that is none. */
  changeOf(message: Message): RowChange {
    const { topic, partition, offset, tombstone } = message
    const read = (source: Source): unknown => source(message)
    return {
      key: this.#keySources.map(read),
      values: tombstone ? undefined : this.#sources.map(read),
      versions: this.#versions.map((of) => of && versionOf(of, message)),
      topic,
      partition,
      offset,
    }
  }
}

function versionOf(of: Source, message: Message): number | bigint | undefined {
  const version = of(message)
  if (typeof version === 'bigint' || Number.isFinite(version)) return version as number | bigint
  if (version === undefined && message.tombstone) return undefined
  throw new PolluxError('POLLUX_ROW_REFUSED', 'The message has no version.', {
    expected: 'a finite number or a bigint',
    found: shown(version),
  })
}

/** Reads what a definition says of rows, and notes what is wrong. */
export function readMapping(
  { key, columns, version, groups }: Given,
  inputs: readonly AnyTopic[],
  problems: Problems,
): Mapping {
  const keys = readSources('key', key, problems)
  if (keys.size === 0) problems.add('key: expected at least one column, found none')
  const several = groups === undefined ? [{ columns, version }] : readGroups(groups, problems)
  if (groups !== undefined && (columns !== undefined || version !== undefined))
    problems.add('groups: expected neither columns nor version beside it')
  const read = several.map((group, index) =>
    readGroup(groups === undefined ? '' : `groups[${index}].`, group, inputs, problems),
  )
  const names = [
    ...keys.keys(),
    ...read.flatMap((group) => [...group.columns, group.version?.column]),
  ].filter((name) => name !== undefined)
  for (const name of new Set(names.filter((name, index) => names.indexOf(name) !== index)))
    problems.add(`${name}: the column is there twice`)
  return new Mapping(keys, read, inputs)
}

function readGroups(groups: unknown, problems: Problems): readonly Given[] {
  if (Array.isArray(groups) && groups.length > 0) return groups as readonly Given[]
  problems.add(`groups: expected a list of { columns, version }, found ${shown(groups)}`)
  return []
}

function readGroup(
  path: string,
  { columns = {}, version }: Given,
  inputs: readonly AnyTopic[],
  problems: Problems,
): ReadGroup {
  const sources = readSources(`${path}columns`, columns, problems)
  return {
    columns: [...sources.keys()],
    sources: [...sources.values()],
    version:
      version === undefined ? undefined : readVersion(`${path}version`, version, inputs, problems),
  }
}

function readSources(what: string, given: unknown, problems: Problems): Map<string, Source> {
  if (typeof given !== 'object' || given === null) {
    problems.add(`${what}: expected an object with a name for each column, found ${shown(given)}`)
    return new Map()
  }
  return new Map(
    Object.entries(given).map(([column, source]: [string, unknown]) => {
      if (typeof source === 'string' && what !== 'key') return [column, fieldOf(source)]
      if (typeof source === 'function') return [column, source as Source]
      problems.add(`${what}.${column}: expected a function of the message, found ${shown(source)}`)
      return [column, () => undefined]
    }),
  )
}

function fieldOf(name: string): Source {
  return ({ value }) => (value as Readonly<Record<string, unknown>>)[name]
}

const versionSources: Readonly<Record<string, Source>> = {
  timestamp: ({ timestamp }) => timestamp,
  offset: ({ offset }) => offset,
}

function readVersion(
  what: string,
  given: unknown,
  inputs: readonly AnyTopic[],
  problems: Problems,
): NonNullable<ReadGroup['version']> {
  const { by, of, column } = (given ?? {}) as Partial<Record<string, unknown>>
  const source = by === 'field' ? of : versionSources[String(by)]
  if (!['field', 'timestamp', 'offset'].includes(String(by)))
    problems.add(`${what}.by: expected 'field', 'timestamp' or 'offset', found ${shown(by)}`)
  else if (typeof source !== 'function')
    problems.add(`${what}.of: expected a function of the message, found ${shown(of)}`)
  if (by === 'offset' && inputs.length > 1)
    problems.add(
      `${what}.by: expected 'field' or 'timestamp', as offsets of two topics say nothing`,
    )
  if (column !== undefined && typeof column !== 'string')
    problems.add(`${what}.column: expected a column's name, found ${shown(column)}`)
  return { of: source as Source, column: column as string | undefined }
}
