import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { citiesAbove } from '../../examples/nearest-cafe/cities.ts'
import { type Indexes, makeIndexes } from '../../examples/nearest-cafe/indexes.ts'
import {
  answers,
  cafes,
  findCafes,
  keepCafes,
  requests,
} from '../../examples/nearest-cafe/services.ts'
import { CrashProcess, testRuntime } from '../../src/testing/index.ts'
import { realClock } from '../patterns/delegate/scene.ts'
import { freshName } from '../postgres/server.ts'

const name = freshName()
let indexes: Indexes

before(async () => {
  indexes = await makeIndexes(name)
})
after(() => indexes.drop())

interface Point {
  readonly latitude: number
  readonly longitude: number
}

/** Metres between two points on a sphere, by the haversine formula. */
function metres(one: Point, other: Point, radius: number): number {
  const radians = (degrees: number): number => (degrees * Math.PI) / 180
  const square = (degrees: number): number => Math.sin(radians(degrees) / 2) ** 2
  const north = square(other.latitude - one.latitude)
  const east = square(other.longitude - one.longitude)
  const across = Math.cos(radians(one.latitude)) * Math.cos(radians(other.latitude)) * east
  return 2 * radius * Math.asin(Math.sqrt(north + across))
}

// The two do not agree on how large the earth is.
const radii: Readonly<Record<string, number>> = { redis: 6_372_797.560856, postgres: 6_378_168 }

test('both indexes find the cafés that a look at every one of them finds', async () => {
  const places = [
    ...citiesAbove(100_000),
    // The date line is no border for those who stand beside it.
    { id: 'Yesterday', latitude: -16.5, longitude: -179.95 },
    { id: 'Tomorrow', latitude: -16.5, longitude: 179.9 },
  ]
  // Some moved here, and one in ten has closed.
  const moved = places.filter((_, index) => index % 7 === 0)
  const closed = new Set(places.filter((_, index) => index % 10 === 5).map(({ id }) => id))
  const open = places.filter(({ id }) => !closed.has(id))
  // People near to cities all over the world, some of them far from any.
  const people = new Map<string, Point>([
    ['today', { latitude: -16.5, longitude: 179.95 }],
    ...places
      .filter((_, index) => index % 25 === 0)
      .map(({ latitude, longitude }, index): [string, Point] => [
        `p${index}`,
        { latitude: latitude + (index % 5) / 20, longitude: longitude + (index % 7) / 20 },
      ]),
  ])
  const { redis, table } = indexes
  const services = [
    keepCafes(redis, table),
    findCafes('redis', redis),
    findCafes('postgres', table),
  ]
  await using runtime = await testRuntime(services, { clock: realClock })
  await runtime.send(
    ...moved.map(({ id }) => cafes.message({ key: id, value: { latitude: 0, longitude: 0 } })),
    ...places.map(({ id, ...value }) => cafes.message({ key: id, value })),
    ...[...closed].map((key) => cafes.message({ key, value: null })),
  )
  await runtime.settled()
  await runtime.send(...[...people].map(([key, value]) => requests.message({ key, value })))
  await runtime.settled()
  const found = await runtime.messages(answers)
  assert.equal(found.length, 2 * people.size)
  let count = 0
  for (const { key, value } of found) {
    const from = people.get(key) as Point
    const radius = radii[value.by] ?? 0
    const near = open
      .map(({ id, ...place }) => ({ id, distance: metres(from, place, radius) }))
      .filter(({ distance }) => distance <= 50_000)
      .toSorted((one, other) => one.distance - other.distance)
      .slice(0, 3)
    const said = `${value.by} for ${JSON.stringify(from)}`
    assert.deepEqual(
      value.cafes.map(({ id }) => id),
      near.map(({ id }) => id),
      said,
    )
    for (const [index, { distance }] of near.entries())
      assert.ok(Math.abs((value.cafes[index]?.distance ?? 0) - distance) < 2, said)
    count += near.length
  }
  assert.ok(count > people.size, `${count} cafés for ${people.size} people`)
  const beside = found.filter(({ key }) => key === 'today').map(({ value }) => value.cafes.length)
  assert.deepEqual(beside, [2, 2])
})

test('the example runs', async () => {
  const main = new CrashProcess(new URL('../../examples/nearest-cafe/main.ts', import.meta.url), {
    args: [`${name}_main`],
  })
  assert.equal(await main.ended(), 0, main.errors)
  const inDelft = main.lines.filter((line) => line.startsWith('Delft'))
  assert.equal(inDelft.length, 2)
  for (const line of inDelft) assert.match(line, /: Delft NL \d+, 0\.\d km; /)
  assert.ok(main.lines.includes('the North Sea, by redis: none'))
})
