import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { startCluster, stopCluster } from '../../scripts/kafka/cluster.ts'
import {
  brokerPorts,
  certificatesFolder,
  testAccounts,
  testKeyPassword,
} from '../../scripts/kafka/layout.ts'
import { PolluxError } from '../../src/errors.ts'
import { importDriver } from '../../src/kafka/driver.ts'
import { type KafkaOptions, type KafkaSasl, kafka } from '../../src/kafka/index.ts'
import { connection, idle, keepingLogger, makeTopic, record, uniqueName } from './support.ts'

// The listeners with TLS and SASL belong to a cluster of the scripts, also when KAFKA_BROKERS names another.
const cluster = await startCluster({ port: 19_400 })
const { plain, sasl: saslPort, tls: tlsPort } = brokerPorts(cluster.port, 1)
const certificates = certificatesFolder(cluster.port)
const ca = readFileSync(join(certificates, 'ca.pem'))

async function failure(options: KafkaOptions): Promise<PolluxError> {
  const broker = kafka(options)
  try {
    await broker.connect()
  } catch (error: unknown) {
    assert.ok(PolluxError.is(error), String(error))
    return error
  } finally {
    await broker.close()
  }
  assert.fail('the connection was made')
}

/** Writes a record, reads it in a group and commits: all three clients log in. */
async function goesRound(options: KafkaOptions): Promise<void> {
  const broker = connection(options)
  try {
    await broker.connect()
    const topic = await makeTopic(broker, uniqueName('round'), 1)
    const producer = await broker.producer()
    assert.deepEqual(await producer.send([record(topic, { text: 'there' })]), [])
    const { logger } = keepingLogger()
    const member = await broker.join(
      { group: topic, topics: [topic], start: 'earliest', logger },
      idle,
    )
    const deadline = Date.now() + 20_000
    let read: string | undefined
    while (read === undefined && Date.now() < deadline)
      read = (await member.poll(1))[0]?.value?.toString()
    assert.equal(read, 'there')
    await member.commit([{ topic, partition: 0, offset: 1 }])
  } finally {
    await broker.close()
  }
}

after(() => stopCluster(cluster.port))

/** A token as the test broker takes it: signed by nobody. */
function unsignedToken(name: string, expiresAt: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const iat = Math.floor(Date.now() / 1000) - 1
  return `${part({ alg: 'none' })}.${part({ sub: name, iat, exp: Math.floor(expiresAt / 1000) })}.`
}

describe('a connection that cannot be made', () => {
  it('names the brokers and the reason within its limit', async () => {
    const start = performance.now()
    const error = await failure({ brokers: ['127.0.0.1:1'], connectTimeout: '2s' })
    assert.equal(error.code, 'POLLUX_BROKER_UNREACHABLE')
    assert.match(error.message, /127\.0\.0\.1:1\b/)
    assert.match(error.message, /refused/i)
    assert.ok(performance.now() - start < 8_000)
  })

  it('tells when something else than Kafka listens', async () => {
    const server = createServer((socket) =>
      socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const error = await failure({ brokers: [`127.0.0.1:${port}`], connectTimeout: '3s' })
    server.close()
    assert.equal(error.code, 'POLLUX_BROKER_UNREACHABLE')
    assert.notEqual(error.found, 'none')
  })

  it('tells of TLS against a port without it', async () => {
    const error = await failure({
      brokers: [`127.0.0.1:${plain}`],
      tls: true,
      connectTimeout: '3s',
    })
    assert.equal(error.code, 'POLLUX_BROKER_UNREACHABLE')
    assert.match(error.message, /ssl|tls/i)
  })

  it('tells at once of a certificate that is not trusted', async () => {
    const start = performance.now()
    const error = await failure({
      brokers: [`127.0.0.1:${tlsPort}`],
      tls: true,
      connectTimeout: '30s',
    })
    assert.equal(error.code, 'POLLUX_BROKER_UNREACHABLE')
    assert.match(error.message, /certificate/i)
    assert.ok(performance.now() - start < 15_000)
  })

  it('case 72: tells at once of a wrong password, and shows it nowhere', async () => {
    const { lines, logger } = keepingLogger()
    const password = 'wrong-hunter2'
    const start = performance.now()
    const error = await failure({
      brokers: [`127.0.0.1:${saslPort}`],
      sasl: { mechanism: 'plain', username: testAccounts.owner.username, password },
      client: { debug: 'security,broker,protocol,conf' },
      logger,
    })
    assert.equal(error.code, 'POLLUX_BROKER_UNREACHABLE')
    assert.match(error.message, /authentication/i)
    assert.ok(performance.now() - start < 15_000)
    assert.ok(lines.length > 5, 'the client’s lines were logged')
    for (const text of [...lines, inspect(error, { depth: 10 })])
      assert.ok(!text.includes(password), text)
  })

  it('tells that the driver is not installed, and how to get it', async () => {
    await assert.rejects(importDriver('@confluentinc/no-such-driver'), (error) => {
      assert.ok(PolluxError.is(error, 'POLLUX_DRIVER_MISSING'))
      assert.match(error.message, /npm install @confluentinc\/no-such-driver/)
      return true
    })
  })
})

describe('a connection with an account', () => {
  const { username, password } = testAccounts.owner
  for (const mechanism of ['plain', 'scram-sha-256', 'scram-sha-512'] as const) {
    it(`works by ${mechanism}`, async () => {
      const sasl: KafkaSasl = { mechanism, username, password }
      await goesRound({ brokers: [`127.0.0.1:${saslPort}`], sasl })
    })
  }

  it('works by a token that a function gives', async () => {
    let asked = 0
    const sasl: KafkaSasl = {
      mechanism: 'oauthbearer',
      async token() {
        asked += 1
        const expiresAt = Date.now() + 3_600_000
        return { value: unsignedToken(username, expiresAt), expiresAt, principal: username }
      },
    }
    await goesRound({ brokers: [`127.0.0.1:${saslPort}`], sasl })
    assert.ok(asked >= 3, 'each client asks for its own')
  })

  it('whose token function fails is told why', async () => {
    const token = async (): Promise<never> => {
      throw new Error('the token service is away')
    }
    const error = await failure({
      brokers: [`127.0.0.1:${saslPort}`],
      sasl: { mechanism: 'oauthbearer', token },
      connectTimeout: '2s',
    })
    assert.equal(error.code, 'POLLUX_BROKER_UNREACHABLE')
    assert.match(error.message, /the token service is away/)
  })

  it('that may do nothing is told what is not allowed', async () => {
    const owner = connection({ brokers: [`127.0.0.1:${plain}`] })
    const topic = await makeTopic(owner, uniqueName('closed'), 1)
    await owner.close()
    const sasl: KafkaSasl = { mechanism: 'plain', ...testAccounts.stranger }
    const broker = connection({ brokers: [`127.0.0.1:${saslPort}`], sasl })
    try {
      await broker.connect()
      await assert.rejects(broker.admin.createTopics([{ name: uniqueName('no'), partitions: 1 }]), {
        code: 'POLLUX_BROKER_REFUSED',
      })
      // Kafka does not show the topic to an account without rights.
      await assert.rejects(broker.admin.ranges([topic]), { code: 'POLLUX_TOPIC_UNKNOWN' })
      const refusals = await (await broker.producer()).send([record(topic, { text: 'no' })])
      assert.equal(refusals.length, 1)
    } finally {
      await broker.close()
    }
  })
})

describe('a connection with TLS', () => {
  it('works with the authority’s certificate', async () => {
    await goesRound({ brokers: [`localhost:${tlsPort}`], tls: { ca } })
  })

  it('works with a certificate of ours, from a key store', async () => {
    const client = {
      'ssl.keystore.location': join(certificates, 'client.p12'),
      'ssl.keystore.password': testKeyPassword,
    }
    await goesRound({ brokers: [`localhost:${tlsPort}`], tls: { ca }, client })
  })

  it('works without trust only when that is said', async () => {
    const broker = kafka({ brokers: [`localhost:${tlsPort}`], tls: { rejectUnauthorized: false } })
    await broker.connect()
    await broker.close()
  })
})
