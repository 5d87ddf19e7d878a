import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { PolluxError } from '../../src/errors.ts'
import { clientConfigs } from '../../src/kafka/client-config.ts'
import { type KafkaOptions, kafka } from '../../src/kafka/index.ts'
import { readKafkaOptions } from '../../src/kafka/options.ts'
import { refusedSettings } from '../../src/kafka/refused-settings.ts'
import { Secrets } from '../../src/kafka/secrets.ts'
import { Problems } from '../../src/options.ts'

const brokers = ['127.0.0.1:9092']

function errorOf(options: unknown): PolluxError {
  try {
    kafka(options as KafkaOptions)
  } catch (error: unknown) {
    assert.ok(PolluxError.is(error))
    return error
  }
  assert.fail('nothing was refused')
}

function configs(options: KafkaOptions): ReturnType<typeof clientConfigs> {
  return clientConfigs(options, readKafkaOptions(options, new Problems()), new Secrets())
}

describe('the options of kafka()', () => {
  it('are refused all at once, each with what was expected', () => {
    const { code, message } = errorOf({
      brokers: ['localhost'],
      sessionTimeout: '10 seconds',
      protocol: 'modern',
      instanceId: '',
      tls: { cert: 'x', other: 1 },
      sasl: { mechanism: 'gssapi' },
      speed: 5,
    })
    assert.equal(code, 'POLLUX_OPTION_INVALID')
    for (const part of [
      'brokers:',
      'sessionTimeout:',
      'protocol:',
      'instanceId:',
      'tls.other:',
      'tls:',
      'sasl.mechanism:',
      'speed:',
    ]) {
      assert.ok(message.includes(part), `${part} in ${message}`)
    }
  })

  it('need brokers', () => {
    assert.equal(errorOf({}).code, 'POLLUX_OPTION_INVALID')
    assert.equal(errorOf({ brokers: [] }).code, 'POLLUX_OPTION_INVALID')
    assert.equal(errorOf(undefined).code, 'POLLUX_OPTION_INVALID')
  })

  it('refuse a pollLimit below the sessionTimeout', () => {
    assert.match(errorOf({ brokers, sessionTimeout: '40s', pollLimit: '30s' }).message, /pollLimit/)
  })

  it('never show a password that was written into a broker’s address', () => {
    assert.ok(!errorOf({ brokers: ['kafka://me:hunter2@host:1'] }).message.includes('hunter2'))
  })
})

describe('settings of librdkafka', () => {
  it('that would break a guarantee are refused, all at once, each with its reason', () => {
    const { code, message } = errorOf({
      brokers,
      client: { 'allow.auto.create.topics': true },
      consumer: {
        'enable.auto.commit': 'true',
        'group.id': 'mine',
        'isolation.level': 'read_uncommitted',
      },
      producer: { acks: 1, 'enable.idempotence': false, retries: 0, partitioner: 'consistent' },
      admin: { 'sasl.password': 'hunter2' },
    })
    assert.equal(code, 'POLLUX_SETTING_REFUSED')
    for (const name of [
      "client['allow.auto.create.topics']",
      "consumer['enable.auto.commit']",
      "consumer['group.id']",
      "consumer['isolation.level']",
      "producer['acks']",
      "producer['enable.idempotence']",
      "producer['retries']",
      "producer['partitioner']",
      "admin['sasl.password']",
    ]) {
      assert.ok(message.includes(name), `${name} in ${message}`)
    }
    assert.ok(!message.includes('hunter2'))
  })

  it('of each refused row are refused in each of the four groups', () => {
    const bad: Readonly<Record<string, string>> = {
      'enable.idempotence': 'false',
      'max.in.flight.requests.per.connection': '6',
      'max.in.flight': '6',
      retries: '0',
      'message.send.max.retries': '0',
    }
    for (const { name, values } of refusedSettings) {
      const value = bad[name] ?? (values === 'true' ? 'TRUE' : 'something-else')
      for (const group of ['client', 'consumer', 'producer', 'admin']) {
        assert.equal(
          errorOf({ brokers, [group]: { [name]: value } }).code,
          'POLLUX_SETTING_REFUSED',
          name,
        )
      }
    }
  })

  it('that are right are taken, also where they say what holds anyway', () => {
    kafka({
      brokers,
      producer: {
        acks: 'all',
        'enable.idempotence': true,
        'max.in.flight': 5,
        'compression.codec': 'lz4',
      },
      consumer: {
        'enable.auto.commit': false,
        'partition.assignment.strategy': 'cooperative-sticky',
      },
    })
  })

  it('case 6: the effective ones commit nothing by themselves, whatever was given', () => {
    const found = configs({ brokers, client: { 'enable.auto.commit': false } }).consumer('group')
    assert.equal(found['enable.auto.commit'], false)
    assert.equal(found['enable.auto.offset.store'], false)
    assert.equal(found['isolation.level'], 'read_committed')
    assert.equal(found['partition.assignment.strategy'], 'cooperative-sticky')
    assert.equal(found['session.timeout.ms'], 30_000)
  })

  it('case 6: a mix that commits before success is refused even behind the first check', () => {
    // As if a setting had come in by a way that `kafka` does not check.
    const sneaked = configs({ brokers, consumer: { 'auto.commit.enable': true } })
    assert.throws(() => sneaked.consumer('group'), { code: 'POLLUX_SETTING_REFUSED' })
    assert.throws(() => configs({ brokers, client: { 'transactional.id': 'x' } }).producer(), {
      code: 'POLLUX_SETTING_REFUSED',
    })
  })

  it('pass through to the client they are for', () => {
    const found = configs({
      brokers,
      client: { 'socket.nagle.disable': false },
      producer: { 'linger.ms': 1 },
    })
    assert.equal(found.producer()['linger.ms'], 1)
    assert.equal(found.producer()['socket.nagle.disable'], false)
    assert.equal(found.consumer('g')['socket.nagle.disable'], false)
    assert.equal(found.consumer('g')['linger.ms'], undefined)
  })

  it('of a producer with transactions keep within the time of a transaction', () => {
    const found = configs({
      brokers,
      client: { 'socket.timeout.ms': 60_000 },
      producer: { 'transaction.timeout.ms': 20_000, 'message.timeout.ms': 0 },
    })
    const transactional = found.transactional('id')
    assert.equal(transactional['transactional.id'], 'id')
    assert.equal(transactional['socket.timeout.ms'], 20_000)
    assert.equal(transactional['message.timeout.ms'], undefined)
    assert.equal(transactional['enable.idempotence'], true)
    assert.equal(transactional['acks'], 'all')
    assert.equal(found.transactionTimeout, 20_000)
    assert.equal(configs({ brokers }).transactional('id')['transaction.timeout.ms'], 15_000)
    assert.equal(found.producer()['message.timeout.ms'], 0)
  })

  it('of the classic protocol are left out with the protocol of the broker', () => {
    const found = configs({ brokers, protocol: 'consumer' }).consumer('group')
    assert.equal(found['group.protocol'], 'consumer')
    for (const name of [
      'session.timeout.ms',
      'heartbeat.interval.ms',
      'partition.assignment.strategy',
    ]) {
      assert.equal(found[name], undefined, name)
    }
  })

  it('that librdkafka does not know are refused at connect', async () => {
    const broker = kafka({ brokers, consumer: { 'no.such.setting': 1 } })
    await assert.rejects(broker.connect(), (error) => {
      assert.ok(PolluxError.is(error, 'POLLUX_OPTION_INVALID'), String(error))
      assert.match(error.message, /no\.such\.setting/)
      return true
    })
    await broker.close()
  })
})

describe('case 72: secrets', () => {
  const secrets = ['hunter2-password', 'hunter2-passphrase', 'hunter2-store']
  const key = `-----BEGIN PRIVATE KEY-----\n${'QWERTY'.repeat(10)}\n-----END PRIVATE KEY-----`
  const broker = kafka({
    brokers,
    tls: { ca: 'ca', cert: 'cert', key, passphrase: 'hunter2-passphrase' },
    sasl: { mechanism: 'plain', username: 'me', password: 'hunter2-password' },
    client: { 'ssl.keystore.password': 'hunter2-store' },
  })

  it('are in neither name nor inspection nor JSON of a connection', () => {
    const shown = [
      broker.name,
      inspect(broker, { depth: 20, showHidden: true }),
      JSON.stringify(broker),
      String(broker),
    ]
    for (const secret of [...secrets, 'QWERTY']) {
      for (const text of shown) assert.ok(!text.includes(secret), text)
    }
  })

  it('are replaced in texts, a key also line by line', () => {
    const keeper = new Secrets()
    keeper.add('hunter2-password', key, undefined, '')
    const text = `login me hunter2-password failed near ${'QWERTY'.repeat(10)}`
    assert.equal(keeper.scrub(text), 'login me *** failed near ***')
  })

  it('are not in the error of a setting that librdkafka refuses', async () => {
    const bad = kafka({
      brokers,
      client: { 'ssl.key.password': 'hunter2-store', 'socket.timeout.ms': 'hunter2-store' },
    })
    await assert.rejects(bad.connect(), (error: Error) => {
      assert.ok(!inspect(error, { depth: 10 }).includes('hunter2-store'), inspect(error))
      return true
    })
    await bad.close()
  })
})
