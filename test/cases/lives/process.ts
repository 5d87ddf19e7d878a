import { ServicesRuntime } from '../../../src/engine/runtime.ts'
import type { Service } from '../../../src/index.ts'
import { Problems, readOptions } from '../../../src/options.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import { type Logger, silent } from '../../../src/ports/logger.ts'
import type { Store } from '../../../src/ports/store.ts'
import { type RuntimeOptions, runtimeOptions } from '../../../src/runtime-options.ts'
import { type Life, mortalBroker, mortalStore } from './life.ts'

/** What a process is made of. */
export interface ProcessParts {
  readonly service: Service
  readonly broker: Broker
  /** Another connection to the same broker: what a dying process has sent may arrive after its death. */
  readonly lastWords: Broker
  readonly store: Store
  readonly clock: Clock
  readonly life: Life
  readonly logger?: Logger
  readonly options?: RuntimeOptions
}

/** A service at work in a process that may die. To be started; it holds nothing that keeps the test alive. */
export function mortalRuntime(parts: ProcessParts): ServicesRuntime {
  const { service, broker, lastWords, store, clock, life, logger = silent, options } = parts
  return new ServicesRuntime({
    services: [service],
    broker: mortalBroker(broker, lastWords, life),
    store: mortalStore(store, life),
    settings: readOptions(runtimeOptions, { commitInterval: 0, ...options }, new Problems(), []),
    clock,
    logger,
  })
}
