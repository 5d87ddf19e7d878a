import { defineService, type Service, text, topic } from '../../src/index.ts'
import { postgresTransaction } from '../../src/sql/postgres-transaction.ts'

const orders = topic('orders', { key: text, value: text, create: { partitions: 2 } })
export const reminders = topic('reminders', { key: text, value: text, create: { partitions: 1 } })

/** How much one run works through. */
export const slice = 5

/**
 * Keeps what is due in a table, and works it off by time: moves it into another table, with who did it, and sends a
 * reminder of each.
 */
export function dueWork(schema: string, owner: string, failing?: () => boolean): Service {
  return defineService('due-work', {
    inputs: [orders],
    outputs: [reminders],
    uses: { db: postgresTransaction },
    schedule: {
      every: '100ms',
      async run({ db, again }) {
        const rows = await db.query<{ readonly id: string }>(
          `delete from "${schema}".due where id in (select id from "${schema}".due order by id limit ${slice})
            returning id`,
        )
        for (const { id } of rows)
          await db.query(`insert into "${schema}".done (id, owner) values ($1, $2)`, [id, owner])
        if (failing?.() === true) throw new Error('as planned')
        if (rows.length === slice) again()
        return rows.map(({ id }) => reminders.message({ key: id, value: owner }))
      },
    },
    handle: async ({ value }, { db }) =>
      void (await db.query(`insert into "${schema}".due values ($1)`, [value])),
  })
}

/** The tables of the service; without keys, what is done twice is there twice. */
export const dueTables = (schema: string): readonly string[] => [
  `create table "${schema}".due (id text)`,
  `create table "${schema}".done (id text, owner text)`,
]

/** What becomes due. */
export function dueOrder(id: string) {
  return orders.message({ key: id, value: id })
}
