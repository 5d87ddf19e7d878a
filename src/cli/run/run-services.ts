import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { PolluxError } from '../../errors.ts'
import type { Logger } from '../../ports/logger.ts'
import type { Store } from '../../ports/store.ts'
import { run } from '../../run.ts'
import type { Service } from '../../service.ts'
import type { Invocation } from '../command.ts'
import { openBroker } from '../connect.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { isKafkaChosen, type ResolvedSettings } from '../settings/resolve-settings.ts'
import type { StopControl } from './stop-control.ts'

/** Runs services in this process until they stop. `started` is called when they work. */
export async function runServices(
  { settings, logger }: Pick<Invocation, 'settings' | 'logger'>,
  services: readonly Service[],
  control: StopControl,
  started: () => void,
): Promise<ExitCode> {
  const store = await openStore(settings, services, logger)
  const broker = await openBroker(settings, { logger, worker: process.env['POLLUX_WORKER'] })
  logger.info({ services: services.map(({ name }) => name), broker: broker.name }, 'starting')
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

async function openStore(
  { settings }: ResolvedSettings,
  services: readonly Service[],
  logger: Logger,
): Promise<Store | undefined> {
  const stateful = services.find(({ state }) => state !== undefined)
  if (stateful === undefined) return undefined
  if (settings.workers > 1) {
    throw new PolluxError(
      'POLLUX_OPTION_INVALID',
      `The service '${stateful.name}' declares state, which the embedded store keeps for one process only.`,
      {
        expected: '1 worker',
        found: `${settings.workers} workers`,
        hint: 'Leave --workers out; concurrency within the process is an option of the service.',
      },
    )
  }
  const { pgliteStore } = await import('../../embedded/pglite-store.ts')
  const folder = join(settings.folder, 'store')
  if (!existsSync(folder))
    logger.info({ folder }, 'setting up the store, once; this takes some seconds')
  return pgliteStore({ folder })
}
