import { memoryStore } from '../../src/testing/index.ts'
import { Cluster } from './lives/cluster.ts'
import { storedOutputsCases } from './stored-outputs.ts'

storedOutputsCases('in memory', () => {
  const cluster = new Cluster()
  return { cluster, newStore: () => memoryStore(cluster.data, cluster.clock) }
})
