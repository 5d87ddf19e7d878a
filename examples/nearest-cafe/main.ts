// Fills two indexes with places from a topic, and answers who asks for the nearest ones. Needs Redis and PostgreSQL with its
// extensions cube and earthdistance: REDIS_URL, PGHOST and so on, else the local ones. The name of the indexes may be given.
import { embeddedBroker } from '../../src/embedded/index.ts'
import { run } from '../../src/index.ts'
import { areSettled, eventually, messagesOf, sendTo } from '../../src/testing/index.ts'
import { citiesAbove } from './cities.ts'
import { makeIndexes } from './indexes.ts'
import { answers, cafes, findCafes, keepCafes, requests } from './services.ts'

const { redis, table, drop } = await makeIndexes(process.argv[2] ?? 'nearest_cafe_example')
try {
  const broker = embeddedBroker()
  const services = [
    keepCafes(redis, table),
    findCafes('redis', redis),
    findCafes('postgres', table),
  ]
  await using _runtime = await run(services, { broker, createTopics: true })
  const settled = () => eventually('all is done', () => areSettled(broker, services))

  const places = citiesAbove(50_000)
  await sendTo(broker, ...places.map(({ id, ...value }) => cafes.message({ key: id, value })))
  await settled()
  console.log(`${places.length} cafés are known.`)
  const people = {
    Delft: { latitude: 52.0116, longitude: 4.3571 },
    'Niagara Falls': { latitude: 43.0828, longitude: -79.0742 },
    'the North Sea': { latitude: 56, longitude: 3 },
  }
  await sendTo(
    broker,
    ...Object.entries(people).map(([key, value]) => requests.message({ key, value })),
  )
  await settled()
  for (const { key, value } of await messagesOf(broker, answers)) {
    const found = value.cafes.map(
      ({ id, distance }) => `${id}, ${(distance / 1_000).toFixed(1)} km`,
    )
    console.log(`${key}, by ${value.by}: ${found.join('; ') || 'none'}`)
  }
} finally {
  await drop()
}
