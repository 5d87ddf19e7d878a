import { destination, pino } from 'pino'
import { durationText } from './duration.ts'
import { type Runtime, ServicesRuntime } from './engine/runtime.ts'
import { errorText, PolluxError, shown } from './errors.ts'
import { checkMethods, checkObject, Problems, readOptions } from './options.ts'
import type { Broker } from './ports/broker.ts'
import type { Clock } from './ports/clock.ts'
import type { Logger } from './ports/logger.ts'
import type { Store } from './ports/store.ts'
import { type RuntimeOptions, runtimeOptions } from './runtime-options.ts'
import type { Service } from './service.ts'
import { systemClock } from './system-clock.ts'

/** Where services run. */
export interface RunOptions extends RuntimeOptions {
  /** `embeddedBroker()` or `kafka({…})`. Closed when the runtime stops. */
  readonly broker: Broker
  /** Needed when a service declares state. Closed when the runtime stops. */
  readonly store?: Store
  /** Default: pino, as JSON lines on stderr. */
  readonly logger?: Logger
  /**
   * Default true: SIGTERM and SIGINT drain, a second one hurries, and the process's exit code says how it ended: 0
   * drained, 1 failed, 3 work was given up, 4 forced at `stopTimeout`. With false all of it is yours.
   */
  readonly signals?: boolean
  /** Aborting it is `stop`, and works while `run` is still starting. */
  readonly signal?: AbortSignal
  /** Default: the machine's. */
  readonly clock?: Clock
}

/**
 * Runs services until `stop`, a signal, or a failure.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong; POLLUX_BROKER_UNREACHABLE, POLLUX_TOPIC_UNKNOWN and what the
 * store says when starting fails.
 */
export async function run(
  services: Service | readonly Service[],
  options: RunOptions,
): Promise<Runtime> {
  checkObject('run()', options, 'run(services, { broker })')
  const list = Array.isArray(services) ? (services as readonly Service[]) : [services as Service]
  const {
    broker,
    store,
    logger = defaultLogger(),
    signals = true,
    signal,
    clock = systemClock,
    ...rest
  } = options
  const problems = new Problems()
  checkServices(list, options, problems)
  checkParts(options, problems)
  const settings = readOptions(runtimeOptions, rest, problems, partNames)
  if (settings.stopTimeout <= settings.drainTimeout) {
    problems.add(
      `stopTimeout: expected more than drainTimeout (${durationText(settings.drainTimeout)}), found ${durationText(settings.stopTimeout)}`,
    )
  }
  problems.throwIfAny('The services cannot run')
  const runtime = new ServicesRuntime({ services: list, broker, store, settings, clock, logger })
  keepAlive(runtime)
  if (signals) obeySignals(runtime, logger)
  if (signal !== undefined) obeyAbort(runtime, signal)
  await runtime.start()
  return runtime
}

// Beside those of the table.
const partNames = ['broker', 'store', 'logger', 'signals', 'signal', 'clock']

const brokerMethods = ['connect', 'join', 'producer', 'reader', 'close']
const storeMethods = ['open', 'acquire', 'load', 'commit', 'acknowledge', 'holds', 'close']
const loggerMethods = ['debug', 'info', 'warn', 'error']
const clockMethods = ['now', 'after', 'random']

/** A part that is none would show only later, as a TypeError from within. */
function checkParts(
  { broker, store, logger, signals, signal, clock }: RunOptions,
  problems: Problems,
): void {
  checkMethods('broker', broker, brokerMethods, 'embeddedBroker() or kafka({…})', problems)
  if (store !== undefined)
    checkMethods('store', store, storeMethods, 'a store such as pgliteStore({ folder })', problems)
  if (logger !== undefined)
    checkMethods('logger', logger, loggerMethods, 'a logger such as pino()', problems)
  if (clock !== undefined) checkMethods('clock', clock, clockMethods, 'a clock', problems)
  if (signals !== undefined && typeof signals !== 'boolean')
    problems.add(`signals: expected true or false, found ${shown(signals)}`)
  if (signal !== undefined && !((signal as unknown) instanceof AbortSignal))
    problems.add(`signal: expected an AbortSignal, found ${shown(signal)}`)
}

function checkServices(
  services: readonly Service[],
  { broker, store }: RunOptions,
  problems: Problems,
): void {
  if (services.length === 0) problems.add('services: expected at least one, found none')
  const names = new Set<string>()
  for (const service of services) {
    if (typeof (service?.handle ?? service?.handleMany) !== 'function') {
      problems.add(`services: expected services made by defineService, found ${shown(service)}`)
      continue
    }
    if (names.has(service.name)) problems.add(`services: '${service.name}' is there twice`)
    names.add(service.name)
    if (service.needsStore && store === undefined) {
      problems.add(
        `store: expected one, such as pgliteStore({ folder }) of pollux/embedded or postgres({ connectionString }) of pollux/postgres, as the service '${service.name}' keeps something in it; found none`,
      )
    } else if (store !== undefined) checkCapabilities(service, store, problems)
    if (service.options.publish === 'transaction' && broker?.transactionalProducer === undefined)
      problems.add(
        `broker: expected one with transactions, as the service '${service.name}' publishes by them; found ${shown(broker?.name)}`,
      )
  }
}

function checkCapabilities({ name, uses }: Service, store: Store, problems: Problems): void {
  const offered = store.transactions?.capability
  for (const [as, asked] of Object.entries(uses)) {
    if (asked.name === offered) continue
    problems.add(
      `store: expected one that gives ${asked.name}, which the service '${name}' uses as '${as}'; found ${store.name}, which gives ${offered ?? 'none'}`,
    )
  }
}

/** Lines on stderr, written at once: nothing is lost when the process ends. */
function defaultLogger(): Logger {
  return pino(destination({ fd: 2, sync: true }))
}

/** Pending promises alone do not keep Node running; services do. */
function keepAlive(runtime: Runtime): void {
  const timer = setInterval(() => {}, 2 ** 30)
  const release = (): void => clearInterval(timer)
  runtime.done.then(release, release)
}

function obeyAbort(runtime: Runtime, signal: AbortSignal): void {
  const stop = (): void => {
    runtime.stop().catch(() => {})
  }
  if (signal.aborted) return stop()
  signal.addEventListener('abort', stop)
  const release = (): void => signal.removeEventListener('abort', stop)
  runtime.done.then(release, release)
}

// How long a process that gave up work may take for its own last words after a signal.
const lastMoment = 1_000

const signalNames = ['SIGTERM', 'SIGINT'] as const

function obeySignals(runtime: Runtime, logger: Logger): void {
  let received = 0
  const onSignal = (signal: string): void => {
    received += 1
    logger.info({ signal }, received === 1 ? 'signal: draining' : 'signal again: hurrying')
    if (received > 1) runtime.hurry()
    runtime.stop().catch(() => {})
  }
  for (const name of signalNames) process.on(name, onSignal)
  const end = (exitCode: number): void => {
    for (const name of signalNames) process.off(name, onSignal)
    process.exitCode ??= exitCode
  }
  runtime.done.then(
    ({ outcome }) => {
      end(outcome === 'drained' ? 0 : 3)
      // A handler that was left behind may hold the process, by a timer or a socket, for as long as it likes.
      if (outcome === 'aborted' && received > 0)
        setTimeout(() => process.exit(), lastMoment).unref()
    },
    (error: unknown) => {
      end(1)
      if (PolluxError.is(error, 'POLLUX_STOP_TIMEOUT')) forceEnd(error, logger)
    },
  )
}

/** A client that hangs inside native code cannot be waited for. */
function forceEnd(error: unknown, logger: Logger): never {
  logger.error({ error: errorText(error) }, 'forcing the process to end')
  process.exit(4)
}
