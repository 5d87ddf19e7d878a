export {
  brokerContract,
  type BrokerContractOptions,
  type BrokerSetup,
  type ContractSkip,
} from './broker-contract.ts'
export { eventually, type WaitOptions, within } from './eventually.ts'
export { ManualClock } from './manual-clock.ts'
export { memoryStore, MemoryStoreData } from './memory-store.ts'
export {
  storeContract,
  type StoreContractOptions,
  type StoreContractSkip,
  type StoreSetup,
} from './store-contract.ts'
export { testRuntime, type TestRuntime, type TestRuntimeOptions } from './test-runtime.ts'
