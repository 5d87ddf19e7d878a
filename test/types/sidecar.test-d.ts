// Checked by the compiler alone: each refusal below is an error if the compiler accepts it.
import { z } from 'zod'
import { json, nullable, sidecar, text, topic } from '../../src/index.ts'
import { postgresTable, postgresTransaction } from '../../src/postgres/index.ts'

const Product = z.object({ name: z.string(), price: z.string(), revision: z.number() })
const products = topic('products', { key: text, value: nullable(json(Product)) })
const prices = topic('prices', { key: text, value: json(z.object({ price: z.string() })) })
const target = postgresTable({ table: 'shop.product' })
const key = { id: ({ key }: { readonly key: string }) => key }

sidecar('everything', {
  input: products,
  target,
  key: { id: ({ key }) => key.toUpperCase() },
  columns: { name: 'name', price: ({ value }) => value.price.length },
  version: { by: 'field', of: ({ value }) => value?.revision, column: 'revision' },
  tombstones: 'delete',
  badText: 'refuse',
  batch: 100,
})

sidecar('several inputs', {
  input: [products, prices],
  target,
  key,
  columns: { price: ({ value }) => value.price },
})

// @ts-expect-error: values have no such field
sidecar('no such field', { input: products, target, key, columns: { name: 'nmae' } })

sidecar('no such field in a function', {
  input: products,
  target,
  key,
  // @ts-expect-error: values have no such field
  columns: { name: ({ value }) => value.nmae },
})

sidecar('a tombstone has no version', {
  input: products,
  target,
  key,
  // @ts-expect-error: a tombstone has no value
  version: { by: 'field', of: ({ value }) => value.revision },
})

// @ts-expect-error: a version has to be ordered
sidecar('version', { input: products, target, key, version: { by: 'field', of: () => 'new' } })

// @ts-expect-error: not a way
sidecar('tombstones', { input: products, target, key, tombstones: 'keep' })

sidecar('by hand', {
  input: products,
  uses: { db: postgresTransaction },
  idempotency: { by: 'event-id', id: ({ key }) => key },
  async apply({ value }, { db, signal }) {
    signal.throwIfAborted()
    await db.query('select $1', [value?.name])
  },
})

// @ts-expect-error: nothing was asked for
sidecar('no db', { input: products, apply: (_, { db }) => void db })

// @ts-expect-error: there is one message at a time
sidecar('batch by hand', { input: products, batch: 5, apply() {} })
