import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Shop } from '../../examples/legacy-sidecar/legacy.ts'
import { changes, feedShop } from '../../examples/legacy-sidecar/services.ts'
import { CrashProcess, testRuntime } from '../../src/testing/index.ts'
import { address, ask, freshName } from '../mysql/server.ts'

const database = freshName()
const notes = `${database}_notes`
const service = feedShop(address(database), `${notes}.versions`)
let shop: Shop

before(async () => {
  for (const name of [database, notes]) await ask(`create database ${name}`)
  shop = await Shop.install(address(database))
})
after(async () => {
  await shop[Symbol.asyncDispose]()
  for (const name of [database, notes]) await ask(`drop database ${name}`)
})

type Change = Parameters<typeof changes.message>[0]['value']

function change(key: string, value: Change, version?: number): ReturnType<typeof changes.message> {
  return changes.message({
    key,
    value,
    ...(version === undefined ? {} : { headers: { version: String(version) } }),
  })
}

/** All that the shop's people have made in their database, as the server tells it. */
async function schemaOfShop(): Promise<unknown> {
  const tables = await ask('show full tables', database)
  const triggers = await ask('show triggers', database)
  const made = await Promise.all(
    tables.map((row) => ask(`show create table ${String(Object.values(row)[0])}`, database)),
  )
  // The counter of the log's own numbers goes on.
  return JSON.parse(JSON.stringify([made, triggers]).replaceAll(/ AUTO_INCREMENT=\d+/g, ''))
}

test('cases 33, 34 and 42: the shop, not changed by a line, has the newest of each group; nothing older comes back, and a replay changes nothing', async () => {
  const schema = await schemaOfShop()
  const log = [
    change('lamp', { version: 1, price: '19.90', title: 'Lampe' }),
    change('lamp', { version: 5, price: '17.50' }),
    // Older than the price, and newer than the title.
    change('lamp', { version: 4, price: '18.00', title: 'Leuchte' }),
    change('chair', { version: 1, price: '0.10', currency: 'CHF', title: 'Stuhl' }),
    change('chair', null, 7),
    change('chair', { version: 6, price: '0.30', title: 'Sessel' }),
    change('table', { version: 3, price: '98765.43', title: 'Tisch' }),
    // A deletion that comes late, too, is not carried out.
    change('table', null, 2),
  ]
  const expected = [
    'lamp  Leuchte                 17.50 EUR   12',
    'table Tisch               98,765.43 EUR    0',
  ]
  let seen: readonly string[] = []
  for (const time of ['first', 'replay']) {
    await using runtime = await testRuntime(service)
    // One after the other, as they came.
    for (const message of log) {
      await runtime.send(message)
      if (time === 'first') await runtime.settled()
    }
    await runtime.settled()
    if (time === 'first') {
      await shop.takeDelivery('lamp', 12)
      seen = await shop.priceLog()
    }
    assert.deepEqual(await shop.priceList(), expected, time)
  }
  assert.deepEqual(seen, [
    'lamp: - → 19.90',
    'lamp: 19.90 → 17.50',
    'chair: - → 0.10',
    'chair: 0.10 → -',
    'table: - → 98765.43',
  ])
  assert.deepEqual(await shop.priceLog(), seen, 'the triggers saw nothing of the replay')
  assert.deepEqual(await schemaOfShop(), schema)
})

test('the example runs', async () => {
  const main = new CrashProcess(new URL('../../examples/legacy-sidecar/main.ts', import.meta.url), {
    args: [`${database}_main`],
  })
  assert.equal(await main.ended(), 0, main.errors)
  assert.deepEqual(main.lines.slice(-4), [
    '  4711: - → 19.90',
    '  4712: - → 249.00',
    '  4711: 19.90 → 17.50',
    '  4712: 249.00 → -',
  ])
  assert.equal(main.lines.filter((line) => line.includes('Sessel')).length, 3)
})
