import assert from 'node:assert/strict'
import { embeddedBroker } from '../../../src/embedded/index.ts'
import { output, type World } from './world.ts'

interface Output {
  readonly id: string
  readonly place: string
  readonly content: string
}

/** Everything that can be seen from outside once all lives are over. */
export async function checkWorld(world: World): Promise<void> {
  assert.deepEqual(world.problems, [])
  if (world.plan.keeps === 'nothing') return checkOutputsAlone(world, await outputsOf(world))
  checkLedger(world)
  const effects = effectsOf(world)
  if (world.plan.by === 'version') checkVersions(world, effects)
  else checkOnce(world, effects)
  for (const places of effects.values()) checkOrder(places, 'effects')
  await checkOutputs(world, [...effects.values()].flat())
}

/** Outputs and positions are one: each record has one output, and there is no other. */
function checkOutputsAlone(world: World, outputs: readonly Output[]): void {
  assert.deepEqual(
    outputs.map(({ place }) => place).toSorted(),
    world.placed.map(({ place }) => place).toSorted(),
  )
  for (const own of Map.groupBy(outputs, ({ place }) => keyOf(world, place)).values())
    checkOrder(
      own.map(({ place }) => place),
      'outputs',
    )
}

/** The places of the records that had an effect, in the order of their effects, by what keeps them. */
function effectsOf({ plan, data, table }: World): ReadonlyMap<string, readonly string[]> {
  const rows: (readonly [string, string])[] =
    plan.keeps === 'table'
      ? [...table.rows]
      : [...data.states].map(([name, { value }]) => [name, value?.toString() ?? '[]'])
  return new Map(rows.map(([name, list]) => [name, JSON.parse(list) as string[]]))
}

function checkLedger({ data, placed }: World): void {
  for (const row of data.ledger.values()) {
    const end = placed.filter(({ place }) => partitionOf(place) === `${row.topic}/${row.partition}`)
    assert.equal(row.next ?? 0, end.length, `the ledger of ${row.topic}/${row.partition}`)
    assert.deepEqual([row.settled, row.unpublished], [[], []])
  }
}

/** What makes two records the same message. */
function identityOf({ plan }: World, event: number, place: string): string {
  const hasId = plan.by === 'event-id' && plan.events[event]?.hasId === true
  return hasId ? `event ${event}` : place
}

function checkOnce(world: World, effects: ReadonlyMap<string, readonly string[]>): void {
  const applied = [...effects.values()].flat().map((place) => {
    const record = world.placed.find((one) => one.place === place)
    assert.ok(record, place)
    return identityOf(world, record.event, place)
  })
  const wanted = new Set(world.placed.map(({ event, place }) => identityOf(world, event, place)))
  assert.deepEqual(applied.toSorted(), [...wanted].toSorted(), 'each message has its effect once')
}

function checkVersions(world: World, effects: ReadonlyMap<string, readonly string[]>): void {
  const { plan, placed } = world
  const versionOf = (place: string): number =>
    plan.events[placed.find((one) => one.place === place)?.event ?? -1]?.version ?? Number.NaN
  for (const [name, places] of effects) {
    places.forEach((place, index) => {
      const before = places[index - 1]
      if (before === undefined) return
      const isLater = partitionOf(before) === partitionOf(place)
      assert.ok(
        versionOf(place) > versionOf(before) || (versionOf(place) === versionOf(before) && isLater),
        `${name}: ${place} after ${before}`,
      )
    })
  }
  const applied = [...effects.values()].flat()
  for (const key of new Set(placed.map(({ event }) => plan.events[event]?.key))) {
    const isOfKey = (event: number | undefined): boolean => plan.events[event ?? -1]?.key === key
    const versions = placed
      .filter(({ event }) => isOfKey(event))
      .map(({ place }) => versionOf(place))
    const newest = applied
      .filter((place) => isOfKey(placed.find((one) => one.place === place)?.event))
      .map(versionOf)
    assert.equal(Math.max(...newest), Math.max(...versions), `the newest version of ${key}`)
  }
}

/** Those of one partition are in its order. */
function checkOrder(places: readonly string[], what: string): void {
  for (const [partition, own] of Map.groupBy(places, partitionOf)) {
    const offsets = own.map((place) => Number(place.slice(partition.length + 1)))
    assert.deepEqual(
      offsets,
      offsets.toSorted((a, b) => a - b),
      `${what} of ${partition}`,
    )
  }
}

async function checkOutputs(world: World, effects: readonly string[]): Promise<void> {
  const outputs = await outputsOf(world)
  const contents = new Map<string, string>()
  for (const { id, content } of outputs) {
    assert.equal(contents.get(id) ?? content, content, `two contents under ${id}`)
    contents.set(id, content)
  }
  const places = new Set(outputs.map(({ place }) => place))
  for (const place of effects) assert.ok(places.has(place), `no output of ${place}`)
  if (world.plan.publish !== 'outbox') return
  assert.equal(contents.size, effects.length, 'an output for each effect, and no other')
  if (world.hasRefused) return
  const firsts = [...Map.groupBy(outputs, ({ id }) => id).values()].flatMap(
    ([first]) => first ?? [],
  )
  for (const own of Map.groupBy(firsts, ({ place }) => keyOf(world, place)).values())
    checkOrder(
      own.map(({ place }) => place),
      'first outputs',
    )
}

function keyOf({ plan, placed }: World, place: string): string | undefined {
  return plan.events[placed.find((one) => one.place === place)?.event ?? -1]?.key
}

function partitionOf(place: string): string {
  return place.slice(0, place.lastIndexOf('/'))
}

async function outputsOf({ memory }: World): Promise<Output[]> {
  const broker = embeddedBroker({ memory })
  const ranges = await broker.admin.ranges([output.name])
  const reader = await broker.reader(ranges.map((range) => ({ ...range, offset: 0 })))
  const wanted = ranges.reduce((sum, { latest }) => sum + latest, 0)
  const outputs: Output[] = []
  while (outputs.length < wanted) {
    for (const { headers, value } of await reader.poll(1_000)) {
      const content = value?.toString() ?? ''
      const { place } = JSON.parse(content) as { place: string }
      const id = headers.find(({ name }) => name === 'id')?.value
      outputs.push({ id: Buffer.from(id ?? []).toString(), place, content })
    }
  }
  await reader.close()
  return outputs
}
