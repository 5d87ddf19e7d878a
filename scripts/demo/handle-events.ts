import { setTimeout as wait } from 'node:timers/promises'
import type { Broker } from '../../src/ports/broker.ts'
import type { Logger } from '../../src/ports/logger.ts'
import type { Store } from '../../src/ports/store.ts'
import { run } from '../../src/run.ts'
import type { Service } from '../../src/service.ts'
import { borrowBroker, borrowStore } from './borrow.ts'
import { Progress } from './progress.ts'

/** How long nothing may happen before it is said what is waited for, in milliseconds. */
const patience = 3_000

export interface HandleOptions {
  readonly broker: Broker
  readonly store: Store
  readonly services: readonly Service[]
  /** The topics that events are sent to; what services make of them is not counted. */
  readonly sources: ReadonlySet<string>
  readonly logger: Logger
  readonly stop: AbortSignal
}

/** Runs the services until all is handled and the positions are committed, or until `stop`; then drains. */
export async function handleEvents(options: HandleOptions): Promise<void> {
  const { broker, store, services, logger, stop } = options
  const runtime = await run(services, {
    broker: borrowBroker(broker),
    store: borrowStore(store),
    logger: withoutModel(logger),
    signals: false,
    signal: stop,
    commitInterval: '20ms',
  })
  const ended = new AbortController()
  const failed = runtime.done.finally(() => ended.abort())
  await Promise.race([untilHandled(options, AbortSignal.any([stop, ended.signal])), failed])
  await runtime.stop()
}

/** That the model is away belongs to the play. */
function withoutModel(logger: Logger): Logger {
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    error: (fields, message) => logger.error(fields, message),
    warn(fields, message) {
      if ((fields as { readonly service?: string }).service !== 'feel-moods')
        logger.warn(fields, message)
    },
  }
}

async function untilHandled(options: HandleOptions, stop: AbortSignal): Promise<void> {
  let progress: Progress | undefined
  let last = { done: -1, at: performance.now() }
  while (!stop.aborted) {
    const { done, total, isAll } = await lookAt(options)
    progress ??= new Progress('Handling events', total)
    progress.update(done)
    if (isAll) break
    if (done !== last.done) last = { done, at: performance.now() }
    if (performance.now() - last.at > patience) {
      console.log(`\n${waitingFor(done, total)} …`)
      last = { done, at: Number.POSITIVE_INFINITY }
    }
    await wait(50, undefined, { signal: stop }).catch(() => {})
  }
  progress?.end()
}

function waitingFor(done: number, total: number): string {
  return done === total
    ? 'Waiting for the model'
    : 'Waiting until the groups give their partitions to this process'
}

/** Positions are read before the ends: where they are equal, nothing was left when the ends were read. */
async function lookAt({
  broker,
  services,
  sources,
}: HandleOptions): Promise<{ done: number; total: number; isAll: boolean }> {
  const groups = await Promise.all(services.map(({ name }) => broker.admin.group(name)))
  let [done, total, isAll] = [0, 0, true]
  for (const [index, { inputs }] of services.entries()) {
    for (const range of await broker.admin.ranges(inputs.map(({ name }) => name))) {
      const position = groups[index]?.offsets.find(
        ({ topic, partition }) => topic === range.topic && partition === range.partition,
      )
      if (position?.offset !== range.latest) isAll = false
      if (!sources.has(range.topic)) continue
      done += position?.offset ?? 0
      total += range.latest
    }
  }
  return { done, total, isAll }
}
