import { z } from 'zod'
// In a project of your own these lines read: … from 'pollux' and 'pollux/mysql'
import {
  json,
  type MessageOf,
  nullable,
  type Service,
  sidecar,
  text,
  topic,
} from '../../src/index.ts'
import { mysqlTable } from '../../src/mysql/index.ts'

/** What has changed of an article; amounts are text, as money is not to be rounded. */
const Change = z.object({
  version: z.int(),
  price: z.string().optional(),
  currency: z.string().length(3).optional(),
  title: z.string().optional(),
})

/** By article number. A tombstone means that the article is no longer sold; its version is in the header `version`. */
export const changes = topic('article-changes', {
  key: text,
  value: nullable(json(Change)),
  // Not compacted: a message says only what has changed, so the last of a key is not all of it.
  create: { partitions: 4, config: { 'retention.ms': '-1' } },
})

function versionOf({ value, headers }: MessageOf<typeof changes>): number {
  return value?.version ?? Number(headers.get('version'))
}

/**
 * Keeps the shop's own table up to date. Whatever the shop keeps there itself, such as its stock, is not touched.
 * @param notes a table in another database of that server: what a deleted row's version was has to be known somewhere
 */
export function feedShop(connectionString: string, notes: string): Service {
  return sidecar('feed-shop', {
    input: changes,
    target: mysqlTable({ connectionString, table: 'T_ARTIKEL', versions: notes }),
    key: { ART_NR: ({ key }) => key },
    groups: [
      {
        columns: {
          VK_PREIS: 'price',
          WAEHRUNG: 'currency',
          PREIS_DAT: ({ value, timestamp }) =>
            value.price === undefined ? undefined : new Date(timestamp),
        },
        version: { by: 'field', of: versionOf },
      },
      { columns: { BEZEICHNUNG: 'title' }, version: { by: 'field', of: versionOf } },
    ],
  })
}
