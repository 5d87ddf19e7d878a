/** A table's name, and that of its schema or database when it was given. */
export class TableName {
  readonly schema: string | undefined
  readonly name: string
  /** As statements write it. */
  readonly quoted: string

  /**
   * @param text as `schema.table`, or `table` alone, which is where the connection looks
   * @param quote writes a name as it stands in a statement, whatever is in it
   */
  constructor(text: string, quote: (name: string) => string) {
    const at = text.indexOf('.')
    this.schema = at < 0 ? undefined : text.slice(0, at)
    this.name = text.slice(at + 1)
    const own = quote(this.name)
    this.quoted = this.schema === undefined ? own : `${quote(this.schema)}.${own}`
  }

  toString(): string {
    return this.schema === undefined ? this.name : `${this.schema}.${this.name}`
  }
}
