import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { eventually, testRuntime } from '../../src/testing/index.ts'
import { kept } from '../engine/kept.ts'
import { dueOrder, dueTables, dueWork, reminders } from './due-work.ts'
import type { OwnDatabase } from './own-sql.ts'

/** Work that is due by time, on a database. */
export function scheduleCases(name: string, database: () => OwnDatabase): void {
  test(`what is due is worked off in slices, each in a transaction with its outputs, also by the next process; ${name}`, async () => {
    const { store, ask, schema } = database()
    for (const statement of dueTables(schema)) await ask(statement)
    const ids = Array.from({ length: 12 }, (_, index) => `${10 + index}`)
    const broker = kept(embeddedBroker())
    let isFailing = true
    const first = await testRuntime(
      dueWork(schema, 'first', () => isFailing),
      { broker, store: store() },
    )
    await first.send(...ids.map(dueOrder))
    await first.settled()
    await first.clock.advance(1_000)
    assert.deepEqual(await count('done'), 0, 'a run that fails leaves nothing behind')
    assert.deepEqual(await count('due'), 12)
    isFailing = false
    await eventually('all is done', async () => {
      await first.clock.advance(100)
      return (await count('done')) === 12
    })
    assert.equal(await count('due'), 0)
    await first.stop()

    await ask(`insert into "${schema}".due values ('99')`)
    await using second = await testRuntime(dueWork(schema, 'second'), { broker, store: store() })
    await eventually('the rest is done', async () => (await count('done')) === 13)
    await eventually('and told', async () => (await second.messages(reminders)).length === 13)
    const messages = await second.messages(reminders)
    assert.deepEqual(messages.map(({ key, value }) => [key, value]).toSorted(), [
      ...ids.map((id) => [id, 'first']),
      ['99', 'second'],
    ])
    assert.equal(new Set(messages.map(({ id }) => id)).size, 13)

    async function count(table: string): Promise<number> {
      const [row] = await ask(`select count(*)::int as count from "${schema}".${table}`)
      return Number(row?.['count'])
    }
  })
}
