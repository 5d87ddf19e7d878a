export {
  type BrokerContractOptions,
  type BrokerSetup,
  brokerContract,
  type ContractSkip,
} from './broker-contract.ts'
export { eventually, type WaitOptions, within } from './eventually.ts'
export { ManualClock } from './manual-clock.ts'
export { MemoryStoreData, memoryStore } from './memory-store.ts'
export {
  type StoreContractOptions,
  type StoreContractSkip,
  type StoreSetup,
  storeContract,
  type TransactionSetup,
} from './store-contract.ts'
export { type TestRuntime, type TestRuntimeOptions, testRuntime } from './test-runtime.ts'
