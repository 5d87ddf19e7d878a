import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { alerts, highs, moves, prices } from '../../examples/stocks/services.ts'
import { lockFolder } from '../../src/embedded/folder-lock.ts'
import { embeddedBroker, pgliteStore } from '../../src/embedded/index.ts'
import type { Broker } from '../../src/ports/broker.ts'
import type { Logger } from '../../src/ports/logger.ts'
import type { Store } from '../../src/ports/store.ts'
import type { AnyTopic } from '../../src/topic.ts'

/** All topics of the demo. */
export const demoTopics: readonly AnyTopic[] = [prices, moves, highs, alerts]

export interface PlaceOptions {
  /** Where the store is, and the embedded broker. */
  readonly folder: string
  readonly logger: Logger
  /** Takes away what earlier runs left. */
  readonly reset: boolean
}

/** Where the demo runs. */
export interface Place {
  readonly broker: Broker
  readonly store: Store
  /** What `pollux` has to be told to look at the same broker. */
  readonly flags: string
  /** What to do when everybody is done with it; undefined when nothing goes on running. */
  readonly stopCommand: string | undefined
}

/** The embedded broker and store, both in the folder. */
export function openEmbeddedPlace({ folder, reset }: PlaceOptions): Promise<Place> {
  if (reset) {
    removeStore(folder)
    for (const end of ['', '-wal', '-shm'])
      rmSync(join(folder, `broker.sqlite${end}`), { force: true })
  }
  return preparePlace(folder, embeddedBroker({ folder }), {
    flags: `--folder ${folder}`,
    stopCommand: undefined,
  })
}

/**
 * Connects, makes the topics where they are missing, and opens the store, which keeps a second demo out of the folder
 * before it writes anything.
 */
export async function preparePlace(
  folder: string,
  broker: Broker,
  rest: Pick<Place, 'flags' | 'stopCommand'>,
): Promise<Place> {
  await broker.connect()
  const existing = new Set((await broker.admin.topics()).map(({ name }) => name))
  const missing = demoTopics.filter(({ name }) => !existing.has(name))
  if (missing.length === demoTopics.length && existsSync(join(folder, 'store'))) {
    // State about offsets that no longer exist would make new prices look as if they had been handled.
    console.log(`The broker is new: what ${folder} kept of an earlier one is thrown away.`)
    removeStore(folder)
  }
  await broker.admin.createTopics(
    missing.map(({ name, create }) => ({
      name,
      partitions: create.partitions ?? 4,
      config: create.config,
    })),
  )
  const store = await openStore(join(folder, 'store'))
  return { broker, store, ...rest }
}

async function openStore(folder: string): Promise<Store> {
  if (!existsSync(folder)) console.log('Setting up the store (once, some seconds) …')
  const store = pgliteStore({ folder })
  await store.open()
  return store
}

/** Takes away the store in a folder. @throws POLLUX_FOLDER_LOCKED when another process uses it. */
export function removeStore(folder: string): void {
  const store = join(folder, 'store')
  if (!existsSync(store)) return
  lockFolder(store, 'pglite').release()
  rmSync(store, { recursive: true, force: true })
}
