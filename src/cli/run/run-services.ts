import { existsSync } from 'node:fs'
import { PolluxError } from '../../errors.ts'
import { fenceOf } from '../../explain.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Store } from '../../ports/store.ts'
import { run } from '../../run.ts'
import type { Service } from '../../service.ts'
import type { Invocation } from '../command.ts'
import { openBroker } from '../connect.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { embeddedStoreFolder, openStore } from '../open-store.ts'
import {
  isKafkaChosen,
  isPostgresChosen,
  type ResolvedSettings,
} from '../settings/resolve-settings.ts'
import type { StopControl } from './stop-control.ts'

/** Runs services in this process until they stop. `started` is called when they work. */
export async function runServices(
  { settings, logger }: Pick<Invocation, 'settings' | 'logger'>,
  services: readonly Service[],
  control: StopControl,
  started: () => void,
): Promise<ExitCode> {
  const store = await neededStore(settings, services)
  const broker = await openBroker(settings, { logger, worker: process.env['POLLUX_WORKER'] })
  logger.info(
    {
      services: services.map(({ name }) => name),
      broker: broker.name,
      store: store?.name ?? 'none',
      fence: Object.fromEntries(services.map((service) => [service.name, fenceOf(service)])),
    },
    'starting',
  )
  if (store !== undefined) announceSetUp(settings, logger)
  const { bufferMessages, bufferBytes, commitInterval, drainTimeout, stopTimeout, createTopics } =
    settings.settings
  const runtime = await run(services, {
    broker,
    ...(store === undefined ? {} : { store }),
    logger,
    signals: false,
    signal: control.signal,
    bufferMessages,
    bufferBytes,
    commitInterval,
    drainTimeout,
    stopTimeout,
    // Topics of the embedded broker are nobody's to manage but its own user's.
    createTopics: createTopics || !isKafkaChosen(settings),
  })
  control.attach(runtime)
  started()
  const { outcome, abandoned } = await runtime.done
  if (outcome === 'drained') return exitCodes.ok
  logger.warn({ abandoned }, 'work was cut off; it is delivered again')
  return exitCodes.aborted
}

async function neededStore(
  resolved: ResolvedSettings,
  services: readonly Service[],
): Promise<Store | undefined> {
  const needing = services.find(({ needsStore }) => needsStore)
  if (needing === undefined) return undefined
  const { workers } = resolved.settings
  if (workers > 1 && !isPostgresChosen(resolved)) {
    throw new PolluxError(
      'POLLUX_OPTION_INVALID',
      `The service '${needing.name}' needs a store, and the embedded one is for one process only.`,
      {
        expected: '1 worker',
        found: `${workers} workers`,
        hint: 'Name a PostgreSQL with --postgres, which any number of processes share, or leave --workers out.',
      },
    )
  }
  return openStore(resolved)
}

/** The first time, the embedded store takes so long that it would look like a fault. */
function announceSetUp(resolved: ResolvedSettings, logger: Logger): void {
  const folder = embeddedStoreFolder(resolved)
  if (isPostgresChosen(resolved) || existsSync(folder)) return
  logger.info({ folder }, 'setting up the store, once; this takes some seconds')
}
