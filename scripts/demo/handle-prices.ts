import { setTimeout as wait } from 'node:timers/promises'
import { bigMoves, priceMoves, prices } from '../../examples/stocks/services.ts'
import type { Broker } from '../../src/ports/broker.ts'
import type { Logger } from '../../src/ports/logger.ts'
import type { Store } from '../../src/ports/store.ts'
import { run } from '../../src/run.ts'
import { borrowBroker, borrowStore } from './borrow.ts'
import { Progress } from './progress.ts'

const services = [priceMoves, bigMoves]
/** How long nothing may happen before it is said what is waited for, in milliseconds. */
const patience = 3_000

export interface HandleOptions {
  readonly broker: Broker
  readonly store: Store
  readonly logger: Logger
  readonly stop: AbortSignal
}

/** Runs the services until all is handled and the positions are committed, or until `stop`; then drains. */
export async function handlePrices({ broker, store, logger, stop }: HandleOptions): Promise<void> {
  const runtime = await run(services, {
    broker: borrowBroker(broker),
    store: borrowStore(store),
    logger,
    signals: false,
    signal: stop,
    commitInterval: '20ms',
  })
  const ended = new AbortController()
  const failed = runtime.done.finally(() => ended.abort())
  await Promise.race([untilHandled(broker, AbortSignal.any([stop, ended.signal])), failed])
  await runtime.stop()
}

async function untilHandled(broker: Broker, stop: AbortSignal): Promise<void> {
  let progress: Progress | undefined
  let last = { done: -1, at: performance.now() }
  while (!stop.aborted) {
    const { done, total, isAll } = await lookAt(broker)
    progress ??= new Progress('Handling prices', total)
    progress.update(done)
    if (isAll) break
    if (done !== last.done) last = { done, at: performance.now() }
    if (performance.now() - last.at > patience) {
      console.log('\nWaiting until the group gives its partitions to this process …')
      last = { done, at: Number.POSITIVE_INFINITY }
    }
    await wait(25, undefined, { signal: stop }).catch(() => {})
  }
  progress?.end()
}

/** Positions are read before the ends: where they are equal, nothing was left when the ends were read. */
async function lookAt(broker: Broker): Promise<{ done: number; total: number; isAll: boolean }> {
  const groups = await Promise.all(services.map(({ name }) => broker.admin.group(name)))
  let [done, total, isAll] = [0, 0, true]
  for (const [index, { inputs }] of services.entries()) {
    for (const range of await broker.admin.ranges(inputs.map(({ name }) => name))) {
      const position = groups[index]?.offsets.find(
        ({ topic, partition }) => topic === range.topic && partition === range.partition,
      )
      if (position?.offset !== range.latest) isAll = false
      if (range.topic !== prices.name) continue
      done += position?.offset ?? 0
      total += range.latest
    }
  }
  return { done, total, isAll }
}
