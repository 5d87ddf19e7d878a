import { join } from 'node:path'
import { cacheFolder } from './cache-folder.ts'

/**
 * The ports of one broker of a test cluster, by the cluster's first port. With 9092 and three brokers: clients at
 * 9092 to 9094, SASL without TLS at 9192 to 9194, TLS at 9292 to 9294, controllers at 9392 to 9394.
 */
export interface BrokerPorts {
  readonly plain: number
  readonly sasl: number
  readonly tls: number
  readonly controller: number
}

/** `index` counts from 1, as the node ids do. */
export function brokerPorts(port: number, index: number): BrokerPorts {
  const plain = port + index - 1
  return { plain, sasl: plain + 100, tls: plain + 200, controller: plain + 300 }
}

/** The most brokers that a cluster may have, so that the ranges of ports stay apart. */
export const mostBrokers = 9

/** Everything a cluster keeps, outside of the repository. */
export function clusterFolder(port: number): string {
  return join(cacheFolder(), 'kafka-clusters', String(port))
}

export function brokerFolder(port: number, index: number): string {
  return join(clusterFolder(port), `broker-${index}`)
}

/** Accounts of the SASL listener. They guard nothing but a test broker on the loopback interface. */
export const testAccounts = {
  /** May do everything. */
  owner: { username: 'pollux', password: 'pollux-test-password' },
  /** May log in, and nothing else. */
  stranger: { username: 'stranger', password: 'stranger-test-password' },
} as const

/** The password of the test keys. */
export const testKeyPassword = 'pollux-test-key'

/** Where a cluster's certificates are: `ca.pem` for clients, `client.p12` for those that show a certificate. */
export function certificatesFolder(port: number): string {
  return join(clusterFolder(port), 'certificates')
}
