import { join } from 'node:path'
import {
  brokerFolder,
  brokerPorts,
  certificatesFolder,
  testAccounts,
  testKeyPassword,
} from './layout.ts'

/** The `server.properties` of one broker of a test cluster. */
export function brokerProperties(port: number, brokers: number, index: number): string {
  const { plain, sasl, tls, controller } = brokerPorts(port, index)
  const voters = Array.from(
    { length: brokers },
    (_, i) => `${i + 1}@127.0.0.1:${brokerPorts(port, i + 1).controller}`,
  )
  const copies = Math.min(brokers, 3)
  const { owner, stranger } = testAccounts
  const store = certificatesFolder(port)
  const module = (name: string): string => `org.apache.kafka.common.security.${name} required`
  const properties: Record<string, string | number> = {
    'process.roles': 'broker,controller',
    'node.id': index,
    'controller.quorum.voters': voters.join(','),
    'controller.listener.names': 'CONTROLLER',
    listeners:
      `PLAINTEXT://127.0.0.1:${plain},SASL_PLAINTEXT://127.0.0.1:${sasl},SSL://127.0.0.1:${tls},` +
      `CONTROLLER://127.0.0.1:${controller}`,
    'listener.security.protocol.map':
      'PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': join(brokerFolder(port, index), 'data'),

    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
    // Takes tokens without a signature, which is what makes it a test.
    'listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config': `${module('oauthbearer.OAuthBearerLoginModule')} unsecuredLoginStringClaim_sub="broker";`,
    'listener.name.sasl_plaintext.plain.sasl.jaas.config':
      `${module('plain.PlainLoginModule')} user_${owner.username}="${owner.password}" ` +
      `user_${stranger.username}="${stranger.password}";`,
    'listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config': `${module('scram.ScramLoginModule')};`,
    'listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config': `${module('scram.ScramLoginModule')};`,
    'ssl.keystore.location': join(store, 'server.p12'),
    'ssl.keystore.password': testKeyPassword,
    'ssl.keystore.type': 'PKCS12',
    'ssl.truststore.location': join(store, 'trust.p12'),
    'ssl.truststore.password': testKeyPassword,
    'ssl.truststore.type': 'PKCS12',
    'ssl.client.auth': 'requested',

    // Everybody may do everything, but the account that is there to be refused.
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': `User:ANONYMOUS;User:${owner.username};User:CN=client`,

    'auto.create.topics.enable': 'false',
    'num.partitions': 4,
    'default.replication.factor': copies,
    'min.insync.replicas': Math.max(1, copies - 1),
    'offsets.topic.num.partitions': 4,
    'offsets.topic.replication.factor': copies,
    'transaction.state.log.num.partitions': 4,
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.min.isr': Math.max(1, copies - 1),
    'share.coordinator.state.topic.num.partitions': 4,
    'share.coordinator.state.topic.replication.factor': copies,
    'share.coordinator.state.topic.min.isr': Math.max(1, copies - 1),
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1000,
    'log.segment.bytes': 64 * 1024 ** 2,
    'log.retention.check.interval.ms': 10_000,
    'controlled.shutdown.enable': 'true',
  }
  return `${Object.entries(properties)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`
}
