export {
  type BrokerContractOptions,
  type BrokerSetup,
  brokerContract,
  type ContractSkip,
} from './broker-contract.ts'
export { type Crash, type CrashPoint, crashPoints, crashPointsOf } from './crash/crash-points.ts'
export { CrashProcess, type CrashProcessOptions } from './crash/crash-process.ts'
export {
  type CrashRounds,
  crashAgainAndAgain,
  type Deaths,
  finishInPeace,
} from './crash/crash-rounds.ts'
export { runToCrash } from './crash/run-to-crash.ts'
export { eventually, type WaitOptions, within } from './eventually.ts'
export { areSettled, messagesOf, sendTo } from './logs.ts'
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
