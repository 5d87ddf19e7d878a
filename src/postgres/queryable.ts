/**
 * What runs SQL: a pool of `pg`, PGlite, or the `db` of `postgresTransaction`.
 */
export interface Queryable {
  query(text: string, params: unknown[]): Promise<unknown>
}

/** The rows of a statement, which some give as they are and others as a part of their answer. */
export async function rowsOf<Row>(
  db: Queryable,
  text: string,
  params: unknown[],
): Promise<readonly Row[]> {
  const answer = (await db.query(text, params)) as
    | readonly Row[]
    | { readonly rows: readonly Row[] }
  return 'rows' in answer ? answer.rows : answer
}

/** A name as it stands in SQL, whatever is in it. */
export function quoted(...names: readonly (string | undefined)[]): string {
  return names
    .filter((name) => name !== undefined)
    .map((name) => `"${name.replaceAll('"', '""')}"`)
    .join('.')
}
