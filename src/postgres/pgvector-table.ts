import { shown } from '../errors.ts'
import { oneOf } from '../options.ts'
import { checkTable, type NewestRow, NewestRows, type NewestRowsOptions } from './newest-rows.ts'
import { quoted } from './queryable.ts'

/** How far two embeddings are from each other; an index serves one of them. */
export type Metric = 'cosine' | 'euclidean' | 'inner-product'

/** What `pgvectorTable` takes. */
export interface PgvectorOptions extends NewestRowsOptions {
  /** The column of the type `vector`. Default `embedding`. */
  readonly embedding?: string
  /** Default `cosine`. */
  readonly metric?: Metric
}

/** An id and its embedding. */
export interface EmbeddingRow extends NewestRow {
  readonly embedding: Iterable<number>
}

/** A table of embeddings. */
export interface PgvectorTable {
  /** Makes or replaces a row for each id; of several for an id the newest, else the last. One statement. */
  upsert(rows: readonly EmbeddingRow[]): Promise<void>
  /** Those nearest to an embedding, nearest first. The distance is pgvector's for the metric. */
  nearest(
    embedding: Iterable<number>,
    options?: { readonly limit?: number },
  ): Promise<readonly { readonly id: string; readonly distance: number }[]>
  remove(ids: readonly string[]): Promise<void>
}

const operators: Readonly<Record<Metric, string>> = {
  cosine: '<=>',
  euclidean: '<->',
  'inner-product': '<#>',
}
const metricOption = oneOf({
  words: ['cosine', 'euclidean', 'inner-product'],
  default: 'cosine',
  help: 'How far two embeddings are from each other.',
})

/**
 * A table of embeddings in PostgreSQL with the extension `vector`; the table is yours to make.
 * @throws POLLUX_OPTION_INVALID
 */
export function pgvectorTable(options: PgvectorOptions): PgvectorTable {
  checkTable('pgvectorTable()', options, (problems) => {
    if (options.metric !== undefined && metricOption.read(options.metric) === undefined)
      problems.add(`metric: expected ${metricOption.expected}, found ${shown(options.metric)}`)
  })
  const { embedding = 'embedding', metric = 'cosine' } = options
  const rows = new NewestRows<EmbeddingRow>(options, [
    { name: embedding, type: 'vector', text: (row) => vectorText(row.embedding) },
  ])
  const far = `${quoted(embedding)} ${operators[metric]} $1::vector`
  const search = `select ${rows.id} as id, ${far} as distance from ${rows.table} order by ${far} limit $2`
  return {
    upsert: (list) => rows.upsert(list),
    nearest: (from, { limit = 10 } = {}) => rows.run(search, [vectorText(from), limit]),
    remove: (ids) => rows.remove(ids),
  }
}

function vectorText(embedding: Iterable<number>): string {
  return `[${[...embedding].join(',')}]`
}
