/** A table's name, and its schema's when it was given. */
export class TableName {
  readonly schema: string | undefined
  readonly name: string

  /** @param text as `schema.table`, or `table` alone, which the search path leads to. */
  constructor(text: string) {
    const at = text.indexOf('.')
    this.schema = at < 0 ? undefined : text.slice(0, at)
    this.name = text.slice(at + 1)
  }

  /** As statements write it. */
  get quoted(): string {
    return this.schema === undefined
      ? quoted(this.name)
      : `${quoted(this.schema)}.${quoted(this.name)}`
  }

  toString(): string {
    return this.schema === undefined ? this.name : `${this.schema}.${this.name}`
  }
}

/** A name as it stands in a statement, whatever is in it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
