/** A name as it stands in a statement, whatever is in it. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
