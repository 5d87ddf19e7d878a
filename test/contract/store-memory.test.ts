import { MemoryStoreData, memoryStore } from '../../src/testing/memory-store.ts'
import { storeContract } from '../../src/testing/store-contract.ts'

storeContract('memory', async () => {
  const data = new MemoryStoreData()
  return { store: () => memoryStore(data), cleanup: async () => {} }
})
