import { ManualClock } from '../../src/testing/manual-clock.ts'
import { MemoryStoreData, memoryStore } from '../../src/testing/memory-store.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { MemoryTable } from '../testing/transactional-memory-store.ts'

storeContract('memory', async () => {
  const data = new MemoryStoreData()
  const clock = new ManualClock()
  return {
    store: () => memoryStore(data, clock),
    age: (milliseconds) => clock.advance(milliseconds),
    cleanup: async () => {},
  }
})

// The contract's own check: its tests of transactions run without a database, too.
storeContract('memory, with transactions', async () => {
  const data = new MemoryStoreData()
  const clock = new ManualClock()
  const table = new MemoryTable()
  return {
    store: () => table.join(memoryStore(data, clock)),
    age: (milliseconds) => clock.advance(milliseconds),
    transactions: table,
    cleanup: async () => {},
  }
})
