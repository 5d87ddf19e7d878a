// Installs the shop in a database of its own, feeds it, and prints the shop's own report as it changes. Needs MySQL or
// MariaDB: MYSQL_URL, else the local one. The database's name may be given.
import { createConnection } from 'mysql2/promise'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { type OutputMessage, run } from '../../src/index.ts'
import { areSettled, eventually, sendTo } from '../../src/testing/index.ts'
import { Shop } from './legacy.ts'
import { changes, feedShop } from './services.ts'

const { MYSQL_URL = 'mysql://root@127.0.0.1:3306' } = process.env
const [, , database = 'legacy_shop_example'] = process.argv
const notes = `${database}_notes`
const address = new URL(`/${database}`, MYSQL_URL).href

const server = await createConnection({ uri: MYSQL_URL, multipleStatements: true })
const drop = `drop database if exists ${database}; drop database if exists ${notes};`
await server.query(`${drop} create database ${database}; create database ${notes};`)
try {
  await using shop = await Shop.install(address)
  const broker = embeddedBroker()
  const service = feedShop(address, `${notes}.versions`)
  await using _runtime = await run(service, { broker, createTopics: true })

  const tell = async (what: string, ...messages: OutputMessage[]): Promise<void> => {
    await sendTo(broker, ...messages)
    await eventually('the shop is fed', () => areSettled(broker, [service]))
    console.log(`${what}:`)
    for (const line of await shop.priceList()) console.log(`  ${line}`)
  }
  const lamp = { version: 1, price: '19.90', title: 'Lampe' }
  const armchair = { version: 1, price: '249.00', title: 'Sessel' }
  await tell(
    'A lamp and an armchair',
    changes.message({ key: '4711', value: lamp }),
    changes.message({ key: '4712', value: armchair }),
  )
  await shop.takeDelivery('4711', 12)
  await tell(
    'Twelve lamps were delivered, and have a new price',
    changes.message({ key: '4711', value: { version: 3, price: '17.50' } }),
  )
  await tell(
    'An older price comes late',
    changes.message({ key: '4711', value: { version: 2, price: '18.00' } }),
  )
  await tell(
    'The armchair is no longer sold',
    changes.message({ key: '4712', value: null, headers: { version: '3' } }),
  )
  await tell(
    'An older price of it comes late',
    changes.message({ key: '4712', value: { version: 2, price: '199.00' } }),
  )
  console.log('What the triggers of the shop have seen of prices:')
  for (const line of await shop.priceLog()) console.log(`  ${line}`)
} finally {
  await server.query(drop)
  await server.end()
}
