import type { Cell, Column } from '../rows/cell.ts'
import type { Version } from '../rows/fold.ts'
import type { Keyed, Upsert } from '../rows/row-database.ts'
import type { TableName } from '../rows/table-name.ts'
import type { MysqlLive } from './live-table.ts'
import { quoted } from './quoted.ts'
import type { Literal } from './session.ts'

/** A column that is given, and where in a row its value is. */
interface Given {
  readonly column: Column
  cellOf(row: Upsert): Cell
}

/** A column that is set, and under which guard. */
interface Assigned extends Given {
  readonly group: number
}

/** Writes the statements for one table. Values stand in them as text: names are quoted, and values escaped. */
export class TableStatements {
  readonly #table: TableName
  readonly #live: MysqlLive
  readonly #groupOf: readonly number[]
  readonly #literal: Literal

  constructor(table: TableName, live: MysqlLive, groupOf: readonly number[], literal: Literal) {
    this.#table = table
    this.#live = live
    this.#groupOf = groupOf
    this.#literal = literal
  }

  /** Whether an insert says enough and can meet no row but its own. */
  canInsert(row: Upsert): boolean {
    const { key, required, hasOtherUnique } = this.#live
    const names = [...key, ...this.#assigned(row).map(({ column }) => column)].map(
      ({ name }) => name,
    )
    return !hasOtherUnique && required.every((name) => names.includes(name))
  }

  /** For rows that set the same columns. */
  upsert(rows: readonly Upsert[]): string {
    const assigned = this.#assigned(rows[0] as Upsert)
    const [first] = this.#live.key
    const changes = this.#changes(assigned, (column) => `values(${quoted(column.name)})`)
    // Something has to be set; what stays as it is costs nothing.
    const set =
      changes.length > 0 ? changes : [`${quoted(first?.name ?? '')} = ${quoted(first?.name ?? '')}`]
    return `${this.#insert(rows, assigned)} on duplicate key update ${set.join(', ')}`
  }

  /** Of the row that is there; undefined when nothing of it changes. */
  update(row: Upsert): string | undefined {
    const assigned = this.#assigned(row)
    const values = new Map(assigned.map(({ column, cellOf }) => [column, cellOf(row)]))
    const changes = this.#changes(assigned, (column) => this.#value(values.get(column), column))
    return changes.length === 0
      ? undefined
      : `update ${this.#table.quoted} set ${changes.join(', ')} where ${this.#isRow(row)}`
  }

  /** Locks the row, if it is there. */
  find(row: Keyed): string {
    return `select 1 from ${this.#table.quoted} where ${this.#isRow(row)} for update`
  }

  insert(row: Upsert): string {
    return this.#insert([row], this.#assigned(row))
  }

  delete(rows: readonly Keyed[]): string {
    const conditions = rows.map((row) => {
      const guards = this.#live.versions.flatMap((column, group) => {
        if (column === undefined || row.versions[group] === undefined) return []
        const version = this.#value(versionCell(row.versions[group], column), column)
        return [this.#guard(column, version)]
      })
      return `(${[this.#isRow(row), ...guards].join(' and ')})`
    })
    return `delete from ${this.#table.quoted} where ${conditions.join(' or ')}`
  }

  /** What a row sets beside its key; versions come last, as those before are compared with what they were. */
  #assigned({ cells, versions: given }: Upsert): readonly Assigned[] {
    const { columns, versions } = this.#live
    const set = columns.flatMap((column, index): Assigned[] =>
      cells[index] === undefined
        ? []
        : [{ column, group: this.#groupOf[index] ?? 0, cellOf: (row) => row.cells[index] }],
    )
    const marks = versions.flatMap((column, group): Assigned[] =>
      column === undefined || given[group] === undefined
        ? []
        : [{ column, group, cellOf: (row) => versionCell(row.versions[group], column) }],
    )
    return [...set, ...marks]
  }

  #insert(rows: readonly Upsert[], assigned: readonly Assigned[]): string {
    const { key } = this.#live
    const names = [...key, ...assigned.map(({ column }) => column)].map(({ name }) => quoted(name))
    const given = [...key.map(keyGiven), ...assigned]
    let values = ''
    for (const row of rows) {
      let start = values === '' ? '(' : ',('
      for (const { column, cellOf } of given) {
        values += start + this.#value(cellOf(row), column)
        start = ','
      }
      values += ')'
    }
    return `insert into ${this.#table.quoted} (${names.join(', ')}) values ${values}`
  }

  #changes(assigned: readonly Assigned[], newOf: (column: Column) => string): readonly string[] {
    return assigned.map(({ column, group }) => {
      const mark = this.#live.versions[group]
      const isGuarded = assigned.some((other) => other.column === mark)
      const value = newOf(column)
      return mark === undefined || !isGuarded
        ? `${quoted(column.name)} = ${value}`
        : `${quoted(column.name)} = if(${this.#guard(mark, newOf(mark))}, ${value}, ${quoted(column.name)})`
    })
  }

  #guard({ name }: Column, version: string): string {
    return `(${quoted(name)} is null or ${quoted(name)} <= ${version})`
  }

  #isRow({ key }: Keyed): string {
    return this.#live.key
      .map((column, index) => `${quoted(column.name)} = ${this.#value(key[index], column)}`)
      .join(' and ')
  }

  #value(cell: Cell, { kind }: Column): string {
    if (cell === undefined || cell === null) return 'null'
    if (typeof cell !== 'string') return this.#literal(cell)
    // As a text it would be compared as a double, which rounds.
    if ((kind === 'integer' || kind === 'decimal') && /^[+-]?\d+(\.\d+)?$/.test(cell)) return cell
    return this.#literal(kind === 'timestamp' ? utc(cell) : cell)
  }
}

function keyGiven(column: Column, index: number): Given {
  return { column, cellOf: ({ key }) => key[index] }
}

const zoned = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)$/i

/** A time with its zone, as the session's is UTC and MariaDB takes none; other texts as they are. */
function utc(text: string): string {
  const [, day, time, fraction = '', zone] = zoned.exec(text) ?? []
  if (day === undefined || zone === undefined) return text
  const moment = new Date(`${day}T${time}${zone}`)
  return `${moment.toISOString().slice(0, 19).replace('T', ' ')}${fraction}`
}

/** A version as its column takes it: a number in a column of times is milliseconds since 1970. */
function versionCell(version: Version, { kind }: Column): string | null {
  if (version === undefined) return null
  return kind === 'timestamp' ? new Date(Number(version)).toISOString() : String(version)
}
