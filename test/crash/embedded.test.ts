import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { embeddedBroker, pgliteStore } from '../../src/embedded/index.ts'
import { connectPglite } from '../../src/embedded/pglite/pglite-connection.ts'
import { type Effect, effectsIn } from '../guarantees/effects.ts'
import { checkEffects, oncePerEvent } from '../guarantees/rules.ts'
import { type Place, Scene, seed } from '../guarantees/scene.ts'
import type { Seen } from '../guarantees/witness.ts'

test(`killed again and again, without a store: nothing is lost (POLLUX_SEED=${seed})`, async () => {
  await inFolder(async (place) => {
    const rules = oncePerEvent(undefined)
    const scene = await Scene.open(place, { mechanism: 'direct', rules })
    await scene.crashAgainAndAgain()
  })
})

test(`killed again and again, in batches without a store: nothing is lost (POLLUX_SEED=${seed})`, async () => {
  await inFolder(async (place) => {
    const scene = await Scene.open(place, { mechanism: 'batches', rules: oncePerEvent(undefined) })
    await scene.crashAgainAndAgain()
  })
})

test(`killed again and again, batches writing in the unit's transaction: their rows are there once (POLLUX_SEED=${seed})`, async () => {
  await inFolder(async (place, folder) => {
    const connection = await connectPglite(folder)
    await connection.query('create schema copying')
    await connection.query(
      'create table copying.effects (number serial, key text, value text, owner text, started int8)',
    )
    await connection.close()
    const rules = {
      ...oncePerEvent(undefined),
      // One process at a time has the store.
      finally: async (seen: Seen) => checkEffects(await rowsIn(folder), seen),
    }
    const scene = await Scene.open(place, { mechanism: 'own-sql-batches', rules })
    await scene.crashAgainAndAgain({}, { names: ['a'], each: 1 })
  })
})

test(`killed again and again, with state: nothing is lost, and each effect is there once (POLLUX_SEED=${seed})`, async () => {
  await inFolder(async (place, folder) => {
    // Making the database takes long; the deaths shall hit the service.
    const store = pgliteStore({ folder })
    await store.open()
    await store.close()
    const rules = {
      ...oncePerEvent(undefined),
      // One process at a time has the store.
      finally: async (seen: Seen) => checkEffects(await effectsOf(folder, seen), seen),
    }
    const scene = await Scene.open(place, { mechanism: 'offset', rules })
    // Opening PGlite takes longer than all the rest of a life.
    await scene.crashAgainAndAgain({}, { names: ['a'], each: 1 })
  })
})

async function inFolder(play: (place: Place, store: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-crash-'))
  const broker = embeddedBroker({ folder })
  const store = join(folder, 'store')
  const names = { input: 'numbers', output: 'copies', group: 'copying' }
  try {
    await play({ names, broker, store: { folder: store }, brokerFor: () => ({ folder }) }, store)
  } finally {
    await broker.close()
    await rm(folder, { recursive: true })
  }
}

async function effectsOf(folder: string, { inputs }: Seen): Promise<readonly Effect[]> {
  const store = pgliteStore({ folder })
  await store.open()
  const keys = [...new Set(inputs.map(({ key }) => key))]
  const { states } = await store.load(
    'copying',
    keys.map((key) => Buffer.from(key)),
    [],
  )
  await store.close()
  return states.flatMap(({ value }, index) => effectsIn(keys[index] ?? '', `${value}`))
}

async function rowsIn(folder: string): Promise<readonly Effect[]> {
  const connection = await connectPglite(folder)
  const rows = await connection.query('select * from copying.effects order by number')
  await connection.close()
  return rows.map(({ key, value, owner, started }) => {
    return { key: `${key}`, value: `${value}`, owner: `${owner}`, started: Number(started) }
  })
}
