import type { Store } from '../../src/ports/store.ts'
import type { StoreSetup } from '../../src/testing/store-contract.ts'

type Ask = (text: string, params?: unknown[]) => Promise<readonly Record<string, unknown>[]>

/** How the contract works with a store on PostgreSQL's SQL. */
export async function sqlStoreSetup(parts: {
  /** Of this set-up alone. */
  readonly schema: string
  /** Asks the database past the store, also after `cleanup` of its stores. */
  readonly ask: Ask
  store(): Store
  cleanup(): Promise<void>
}): Promise<StoreSetup> {
  const { schema, ask, store, cleanup } = parts
  await ask(`create schema ${schema}`)
  await ask(`create table ${schema}.own (
    key text primary key,
    value text,
    parent text references ${schema}.own deferrable initially deferred
  )`)
  return {
    store,
    cleanup,
    async age(milliseconds) {
      const change = `- interval '${milliseconds} milliseconds'`
      await ask(`update ${schema}.pollux_inbox set applied_at = applied_at ${change}`)
      await ask(`update ${schema}.pollux_outbox set stored_at = stored_at ${change}`)
    },
    transactions: {
      async write(capability, key, value) {
        const text = `insert into ${schema}.own (key, value) values ($1, $2)
          on conflict (key) do update set value = excluded.value`
        await (capability as { query: Ask }).query(text, [key, value])
      },
      async violate(capability) {
        const text = `insert into ${schema}.own (key, parent) values ('orphan', 'nobody')`
        await (capability as { query: Ask }).query(text)
      },
      async read(key) {
        const [row] = await ask(`select value from ${schema}.own where key = $1`, [key])
        return row?.['value'] as string | undefined
      },
    },
  }
}
