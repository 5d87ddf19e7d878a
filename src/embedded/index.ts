export {
  type EmbeddedBrokerOptions,
  type EmbeddedBrokerSettings,
  embeddedBroker,
  embeddedBrokerOptions,
  sharedMemory,
} from './embedded-broker.ts'
export type { MemoryLog } from './memory-log.ts'
export { type PgliteStoreOptions, pgliteStore } from './pglite-store.ts'
