import type { Cell } from '../../rows/cell.ts'
import type { Version } from '../../rows/fold.ts'
import type { Keyed, Upsert } from '../../rows/row-database.ts'
import type { TableName } from '../../rows/table-name.ts'
import { byteaArray, textArray } from '../../sql/arrays.ts'
import type { PostgresColumn, PostgresLive } from './live-table.ts'
import { quoted } from './quoted.ts'

/** A statement with its parameters. */
export interface Statement {
  readonly text: string
  readonly params: readonly unknown[]
  /** Its plan does not hang on how large the table is, so it may be kept. */
  readonly isStable: boolean
}

/** A column of what is given, and where in a row its value is. */
interface Given {
  readonly column: PostgresColumn
  cellOf(row: Keyed & Partial<Upsert>): Cell
}

interface GivenInGroup extends Given {
  readonly group: number
}

/** An upsert of rows that set the same columns. */
interface Plan {
  readonly text: string
  readonly given: readonly Given[]
  readonly isStable: boolean
}

/** Writes the statements for one table. Each takes any number of rows, as an array for each column. */
export class TableStatements {
  readonly #table: TableName
  readonly #live: PostgresLive
  readonly #groupOf: readonly number[]
  readonly #keys: readonly Given[]
  /** By which columns and versions are set. */
  readonly #plans = new Map<string, Plan>()

  constructor(table: TableName, live: PostgresLive, groupOf: readonly number[]) {
    this.#table = table
    this.#live = live
    this.#groupOf = groupOf
    this.#keys = live.key.map((column, index) => ({ column, cellOf: ({ key }) => key[index] }))
  }

  /** Rows that set the same columns. */
  upsert(rows: readonly Upsert[]): Statement {
    const { text, given: all, isStable } = this.#planFor(rows[0] as Upsert)
    return { text, params: all.map((one) => arrayOf(one, rows)), isStable }
  }

  #planFor({ cells, versions }: Upsert): Plan {
    const set = [...cells, ...versions].map((one) => one !== undefined).join()
    const plan = this.#plans.get(set) ?? this.#plan(cells, versions)
    this.#plans.set(set, plan)
    return plan
  }

  #plan(cells: Upsert['cells'], given: Upsert['versions']): Plan {
    const { key, columns, versions, required } = this.#live
    const set = columns.flatMap((column, index): GivenInGroup[] =>
      cells[index] === undefined
        ? []
        : [{ column, group: this.#groupOf[index] ?? 0, cellOf: (row) => row.cells?.[index] }],
    )
    const marks = versions.flatMap((column, group): GivenInGroup[] =>
      column === undefined || given[group] === undefined
        ? []
        : [{ column, group, cellOf: (row) => versionCell(row.versions[group], column) }],
    )
    const all = [...this.#keys, ...set, ...marks]
    const names = all.map(({ column }) => quoted(column.name)).join(', ')
    const target = key.map(({ name }) => quoted(name)).join(', ')
    const isComplete = required.every((name) => all.some(({ column }) => column.name === name))
    const conflict = `on conflict (${target}) do ${this.#changes(set, marks, 'excluded')}`
    const text = isComplete
      ? `insert into ${this.#table.quoted} as t (${names}) select ${names} from ${asTable(all)} ${conflict}`
      : // A row that is there needs no more than what changes; an insert would ask for the rest even so.
        `with given as materialized (select ${names} from ${asTable(all)}),
        updated as (${this.#update(set, marks)})
        insert into ${this.#table.quoted} as t (${names}) select ${names} from given
        where not exists (select from ${this.#table.quoted} as t where ${this.#sameKey}) ${conflict}`
    return { text, given: all, isStable: isComplete }
  }

  delete(rows: readonly Keyed[]): Statement {
    const marks = this.#live.versions.flatMap((column, group): Given[] =>
      column === undefined
        ? []
        : [{ column, cellOf: ({ versions }) => versionCell(versions[group], column) }],
    )
    const all = [...this.#keys, ...marks]
    const guards = marks.map(({ column: { name } }) => {
      const [old, now] = [`t.${quoted(name)}`, `given.${quoted(name)}`]
      return ` and (${now} is null or ${old} is null or ${old} <= ${now})`
    })
    return {
      text: `delete from ${this.#table.quoted} as t using ${asTable(all)} where ${this.#sameKey}${guards.join('')}`,
      params: all.map((one) => arrayOf(one, rows)),
      isStable: false,
    }
  }

  get #sameKey(): string {
    return this.#live.key
      .map(({ name }) => `t.${quoted(name)} = given.${quoted(name)}`)
      .join(' and ')
  }

  #update(set: readonly GivenInGroup[], marks: readonly GivenInGroup[]): string {
    const { changes, guard } = this.#assignments(set, marks, 'given')
    if (changes.length === 0) return 'select'
    const where = guard === undefined ? '' : ` and (${guard})`
    return `update ${this.#table.quoted} as t set ${changes.join(', ')} from given where ${this.#sameKey}${where}`
  }

  #changes(set: readonly GivenInGroup[], marks: readonly GivenInGroup[], source: string): string {
    const { changes, guard } = this.#assignments(set, marks, source)
    if (changes.length === 0) return 'nothing'
    return `update set ${changes.join(', ')}${guard === undefined ? '' : ` where ${guard}`}`
  }

  /** What is set from where, and when at all. */
  #assignments(
    set: readonly GivenInGroup[],
    marks: readonly GivenInGroup[],
    source: string,
  ): { readonly changes: readonly string[]; readonly guard: string | undefined } {
    const guards = new Map(
      marks.map(({ column, group }) => {
        const [old, now] = [`t.${quoted(column.name)}`, `${source}.${quoted(column.name)}`]
        return [group, `(${old} is null or ${old} <= ${now})`]
      }),
    )
    const groups = new Set([...set, ...marks].map(({ group }) => group))
    const [only] = guards.values()
    const isOne = groups.size === 1
    const changes = [...set, ...marks].map(({ column: { name }, group }) => {
      const [old, now] = [`t.${quoted(name)}`, `${source}.${quoted(name)}`]
      const guard = isOne ? undefined : guards.get(group)
      const value = guard === undefined ? now : `case when ${guard} then ${now} else ${old} end`
      return `${quoted(name)} = ${value}`
    })
    return { changes, guard: isOne ? only : undefined }
  }
}

/** The rows as a table. */
function asTable(columns: readonly Given[]): string {
  const arrays = columns.map(({ column }, index) => `$${index + 1}::${arrayType(column)}[]`)
  const places = columns.map((_, index) => `c${index}`)
  const values = columns.map(
    ({ column }, index) => `c${index}::${column.type} as ${quoted(column.name)}`,
  )
  return `(select ${values.join(', ')} from unnest(${arrays.join(', ')}) as u (${places.join(', ')})) as given`
}

function arrayType({ kind }: PostgresColumn): string {
  return kind === 'bytes' ? 'bytea' : 'text'
}

function arrayOf({ column, cellOf }: Given, rows: readonly Keyed[]): Buffer {
  if (column.kind === 'bytes')
    return byteaArray(
      rows.map((row) => {
        const cell = cellOf(row)
        return cell instanceof Uint8Array ? cell : null
      }),
    )
  return textArray(
    rows.map((row) => {
      const cell = cellOf(row)
      return typeof cell === 'string' ? cell : null
    }),
  )
}

/** A version as its column takes it: a number in a column of times is milliseconds since 1970. */
function versionCell(version: Version, { kind }: PostgresColumn): string | null {
  if (version === undefined) return null
  return kind === 'timestamp' ? new Date(Number(version)).toISOString() : String(version)
}
