import { existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { priceMoves } from '../../examples/bookshop/almanac.ts'
import { shopPool } from '../../examples/bookshop/legacy-shop.ts'
import type { PglitePool } from '../../examples/bookshop/pglite-pool.ts'
import * as bookshop from '../../examples/bookshop/services.ts'
import { lockFolder } from '../../src/embedded/folder-lock.ts'
import { embeddedBroker, pgliteStore } from '../../src/embedded/index.ts'
import type { Broker } from '../../src/ports/broker.ts'
import type { Logger } from '../../src/ports/logger.ts'
import type { Store } from '../../src/ports/store.ts'
import type { AnyTopic } from '../../src/topic.ts'
import { runCommand } from '../command.ts'
import { Failure } from '../kafka/failure.ts'

const shopProgram = 'examples/bookshop/legacy-shop.ts'

/** All topics of the demo. A router knows its topics as bytes, and so as others than their readers do. */
export const demoTopics: readonly AnyTopic[] = [
  ...new Map(
    Object.values(bookshop)
      .flatMap(({ inputs, outputs }) => [...inputs, ...outputs])
      .map((topic) => [topic.name, topic]),
  ).values(),
]

export interface PlaceOptions {
  /** Where the store is, the database of the legacy shop, and the embedded broker. */
  readonly folder: string
  readonly logger: Logger
  /** Takes away what earlier runs left. */
  readonly reset: boolean
  /** How the user does that. */
  readonly resetCommand: string
}

/** Where the demo runs. */
export interface Place {
  readonly broker: Broker
  readonly store: Store
  /** The database of the legacy shop. */
  readonly shop: PglitePool
  /** What `pollux` has to be told to look at the same broker. */
  readonly flags: string
  /** What to do when everybody is done with it; undefined when nothing goes on running. */
  readonly stopCommand: string | undefined
}

/** The embedded broker and store, both in the folder. */
export function openEmbeddedPlace(options: PlaceOptions): Promise<Place> {
  const { folder, reset } = options
  if (reset) {
    removeStore(folder)
    for (const end of ['', '-wal', '-shm'])
      rmSync(join(folder, `broker.sqlite${end}`), { force: true })
  }
  return preparePlace(options, embeddedBroker({ folder }), {
    flags: `--folder ${folder}`,
    stopCommand: undefined,
  })
}

/**
 * Connects, makes the topics where they are missing, and opens the store, which keeps a second demo out of the folder
 * before it writes anything.
 */
export async function preparePlace(
  options: PlaceOptions,
  broker: Broker,
  rest: Pick<Place, 'flags' | 'stopCommand'>,
): Promise<Place> {
  try {
    await broker.connect()
    await prepareTopics(options, broker)
    return { broker, ...(await openDatabases(options, broker)), ...rest }
  } catch (error) {
    await broker.close()
    throw error
  }
}

async function prepareTopics({ folder }: PlaceOptions, broker: Broker): Promise<void> {
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
}

async function openDatabases(
  { folder, resetCommand }: PlaceOptions,
  broker: Broker,
): Promise<Pick<Place, 'store' | 'shop'>> {
  const isNew = !existsSync(join(folder, 'store'))
  if (isNew) await refuseLostState(broker, resetCommand)
  if (isNew) console.log('Setting up the databases (once, some seconds) …')
  // By the shop's own program, so that the two are made at the same time.
  const making = isNew ? runCommand('node', [shopProgram, shopFolder(folder)]) : undefined
  const store = pgliteStore({ folder: join(folder, 'store') })
  await store.open()
  await making
  return { store, shop: shopPool(shopFolder(folder)) }
}

/** With the positions but without the state, the services would go on from prices that nobody remembers. */
async function refuseLostState(broker: Broker, resetCommand: string): Promise<void> {
  const { offsets } = await broker.admin.group(priceMoves.name)
  if (offsets.every(({ offset }) => offset === 0)) return
  throw new Failure(
    `The broker says that prices were handled, and the store is gone. Start over: ${resetCommand}`,
  )
}

function shopFolder(folder: string): string {
  return resolve(folder, 'shop')
}

/** Takes away the store in a folder, and what goes with it. @throws POLLUX_FOLDER_LOCKED when another process uses it. */
export function removeStore(folder: string): void {
  const store = join(folder, 'store')
  if (!existsSync(store)) return
  lockFolder(store, 'pglite').release()
  rmSync(store, { recursive: true, force: true })
  rmSync(shopFolder(folder), { recursive: true, force: true })
}
