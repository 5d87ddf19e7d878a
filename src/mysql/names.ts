/** A name as it stands in a statement, whatever is in it. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

/** A table's name, and its database's when it was given. */
export class TableName {
  readonly database: string | undefined
  readonly name: string

  /** @param text as `database.table`, or `table` alone, which is in the database of the connection. */
  constructor(text: string) {
    const at = text.indexOf('.')
    this.database = at < 0 ? undefined : text.slice(0, at)
    this.name = text.slice(at + 1)
  }

  /** As statements write it. */
  get quoted(): string {
    const name = quoted(this.name)
    return this.database === undefined ? name : `${quoted(this.database)}.${name}`
  }

  toString(): string {
    return this.database === undefined ? this.name : `${this.database}.${this.name}`
  }
}
