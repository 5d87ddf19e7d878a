export {
  embeddedBroker,
  embeddedBrokerOptions,
  type EmbeddedBrokerOptions,
  type EmbeddedBrokerSettings,
  sharedMemory,
} from './embedded-broker.ts'
export type { MemoryLog } from './memory-log.ts'
