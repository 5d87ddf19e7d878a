import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { kafkaOptions } from '../../../src/cli/connect.ts'
import { postgresOptions, storeSchema } from '../../../src/cli/open-store.ts'
import { scrubSecrets } from '../../../src/cli/secrets.ts'
import {
  isKafkaChosen,
  isPostgresChosen,
  type ResolvedSettings,
  resolveSettings,
  type Sources,
} from '../../../src/cli/settings/resolve-settings.ts'
import { flagOf, isSecret, settingNames, variableOf } from '../../../src/cli/settings/settings.ts'

function resolve(sources: Partial<Sources>): ResolvedSettings {
  return resolveSettings({ flags: {}, environment: {}, config: undefined, ...sources })
}

function config(values: Record<string, unknown>): Sources['config'] {
  return { path: 'pollux.config.ts', values }
}

test('A flag goes before the environment, the environment before the config file, and that before the default', () => {
  const all = {
    flags: { bufferMessages: '4' },
    environment: { POLLUX_BUFFER_MESSAGES: '3', POLLUX_FOLDER: '/three' },
    config: config({ bufferMessages: 2, folder: '/two', commitInterval: '2s' }),
  }
  const { settings, origins } = resolve(all)
  assert.equal(settings.bufferMessages, 4)
  assert.equal(settings.folder, '/three')
  assert.equal(settings.commitInterval, 2_000)
  assert.equal(settings.bufferBytes, 33_554_432)
  assert.deepEqual(
    [origins.bufferMessages, origins.folder, origins.commitInterval, origins.bufferBytes],
    ['flag', 'environment', 'config file', 'default'],
  )
})

test('All problems of all origins are told at once, each with where it comes from', () => {
  const sources = {
    flags: { workers: 'many' },
    environment: { POLLUX_COMMIT_INTERVAL: '10 seconds' },
    config: config({ bufferBytes: -1, bufferSize: 3, kafka: 'localhost:9092' }),
  }
  assert.throws(
    () => resolve(sources),
    (error: Error & { code: string }) => {
      assert.equal(error.code, 'POLLUX_OPTION_INVALID')
      assert.match(error.message, /--workers: expected a whole number from 1 to 64, found 'many'/)
      assert.match(error.message, /environment: POLLUX_COMMIT_INTERVAL: expected a duration/)
      assert.match(error.message, /pollux\.config\.ts: bufferBytes: expected a whole number/)
      assert.match(error.message, /pollux\.config\.ts: bufferSize: unknown option/)
      assert.match(error.message, /pollux\.config\.ts: kafka: expected an object/)
      return true
    },
  )
})

test('A wrong value is told even where a right one of higher precedence hides it', () => {
  assert.throws(
    () => resolve({ flags: { workers: '2' }, environment: { POLLUX_WORKERS: '0' } }),
    /POLLUX_WORKERS/,
  )
})

test('A variable that is set but empty counts as not set', () => {
  assert.equal(resolve({ environment: { POLLUX_FOLDER: '' } }).settings.folder, '.pollux')
})

test('A variable of no known name is warned about, those of Pollux itself are not', () => {
  const { warnings } = resolve({
    environment: { POLLUX_BUFER_BYTES: '1', POLLUX_DEBUG: '1', POLLUX_CONFIG: 'x' },
  })
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', /POLLUX_BUFER_BYTES/)
})

test('Kafka is used wherever it is named, unless --no-kafka is given', () => {
  assert.equal(isKafkaChosen(resolve({})), false)
  assert.equal(
    isKafkaChosen(resolve({ environment: { POLLUX_KAFKA: 'a:1,b:2' }, flags: { folder: 'x' } })),
    true,
  )
  assert.equal(isKafkaChosen(resolve({ config: config({ kafka: { brokers: ['a:1'] } }) })), true)
  assert.equal(
    isKafkaChosen(
      resolve({ config: config({ kafka: { brokers: ['a:1'] } }), flags: { kafka: false } }),
    ),
    false,
  )
})

test('Flags and environment are put over what the config file says of Kafka', () => {
  const resolved = resolve({
    config: config({
      kafka: {
        brokers: ['a:1'],
        tls: { rejectUnauthorized: true },
        sasl: { mechanism: 'plain', username: 'u', password: 'file-secret' },
        clientId: 'c',
      },
    }),
    environment: { POLLUX_KAFKA: 'b:2, c:3', POLLUX_KAFKA_PASSWORD: 'env-secret' },
    flags: { kafkaTls: true, kafkaConnectTimeout: '3s', kafkaInstanceId: 'me' },
  })
  assert.deepEqual(kafkaOptions(resolved, '2/3'), {
    brokers: ['b:2', 'c:3'],
    tls: { rejectUnauthorized: true },
    sasl: { mechanism: 'plain', username: 'u', password: 'env-secret' },
    clientId: 'c',
    connectTimeout: 3_000,
    // Two workers of one instance id would put each other out of the group.
    instanceId: 'me-2',
  })
})

test('PostgreSQL is used wherever it is named, unless --no-postgres is given', () => {
  assert.equal(isPostgresChosen(resolve({ flags: { schema: 'mine' } })), false)
  assert.equal(
    isPostgresChosen(resolve({ environment: { POLLUX_POSTGRES: 'postgres:///' } })),
    true,
  )
  // By PGHOST and the like.
  const bare = config({ postgres: {} })
  assert.equal(isPostgresChosen(resolve({ config: bare })), true)
  assert.equal(isPostgresChosen(resolve({ config: bare, flags: { postgres: false } })), false)
})

test('Flags and environment are put over what the config file says of PostgreSQL', () => {
  const resolved = resolve({
    config: config({ postgres: { pool: {}, poolSize: 3, schema: 'file', lockTimeout: '1s' } }),
    environment: { POLLUX_POSTGRES_MIGRATE: 'false', POLLUX_SCHEMA: 'variable' },
    flags: { postgres: 'postgres://me@db/shop', schema: 'flag', postgresLockTimeout: '2s' },
  })
  assert.deepEqual(postgresOptions(resolved), {
    // Not the pool, which leads elsewhere.
    connectionString: 'postgres://me@db/shop',
    poolSize: 3,
    schema: 'flag',
    lockTimeout: 2_000,
    migrate: false,
  })
  assert.equal(storeSchema(resolved), 'flag')
  assert.equal(storeSchema(resolve({ config: config({ postgres: { schema: 'file' } }) })), 'file')
  assert.equal(storeSchema(resolve({})), 'pollux')
})

test('What is wrong with PostgreSQL’s address is told without the address', () => {
  for (const wrong of ['host=db password=s3cret', 'mysql://me:s3cret@db/shop', 's3cret']) {
    assert.throws(
      () => resolve({ flags: { postgres: wrong } }),
      (error: Error) =>
        /--postgres: expected 'postgres:/.test(error.message) && !/s3cret/.test(error.message),
    )
  }
})

test('An address where the config file should have options is not shown either', () => {
  for (const section of ['postgres', 'kafka']) {
    assert.throws(
      () => resolve({ config: config({ [section]: 'postgres://me:s3cret@db/shop' }) }),
      (error: Error) =>
        error.message.includes(`${section}: expected an object`) && !/s3cret/.test(error.message),
    )
  }
})

test('A password in a flag is warned about: other users can read it', () => {
  const secret = 'postgres://me:flag-secret@db/shop'
  const [warning, ...others] = resolve({ flags: { postgres: secret } }).warnings
  assert.match(warning ?? '', /password in --postgres/)
  assert.deepEqual(others, [])
  assert.doesNotMatch(warning ?? '', /flag-secret/)
  assert.deepEqual(resolve({ environment: { POLLUX_POSTGRES: secret } }).warnings, [])
  assert.deepEqual(resolve({ flags: { postgres: 'postgres://me@db/shop' } }).warnings, [])
})

test('Half of a SASL login is refused with what is missing', () => {
  assert.throws(
    () => resolve({ environment: { POLLUX_KAFKA_PASSWORD: 'hush-hush' } }),
    /--kafka-sasl or POLLUX_KAFKA_SASL; --kafka-username/,
  )
})

test('case 72: no secret of the configuration comes out again, neither in an error nor in other text', () => {
  const environment = { POLLUX_KAFKA_PASSWORD: 's3cr"t/1', POLLUX_KAFKA: 'user:pass@host:9092' }
  assert.throws(
    () => resolve({ environment }),
    (error: Error) => !error.message.includes('s3cr') && !error.message.includes('pass@'),
  )
  resolve({
    config: config({
      kafka: { sasl: { password: 'in-the-file' }, tls: { passphrase: 'of-the-key' } },
    }),
  })
  resolve({
    config: config({ postgres: { pool: { options: { password: 'of-the-pool' } } } }),
    environment: {
      PGPASSWORD: 'of-libpq',
      POLLUX_POSTGRES: 'postgres://me:a%20url@db/?password=query1',
    },
  })
  resolve({ config: config({ postgres: { connectionString: 'postgres://me:bad%zzone@db' } }) })
  const database = 'of-the-pool of-libpq a%20url a url query1 bad%zzone'
  assert.equal(scrubSecrets(database), '*** *** *** *** *** ***')
  const text = `s3cr"t/1 ${JSON.stringify({ password: 's3cr"t/1' })} ${encodeURIComponent('s3cr"t/1')} in-the-file of-the-key`
  assert.equal(scrubSecrets(text), '*** {"password":"***"} *** *** ***')
})

test('Broker addresses that Kafka could not use are refused', () => {
  for (const wrong of [
    'localhost',
    'localhost:0',
    'localhost:99999',
    'kafka://localhost:9092',
    'a:1,,b:2',
    ' ',
  ]) {
    assert.throws(
      () => resolve({ flags: { kafka: wrong } }),
      /--kafka: expected 'host:port'/,
      wrong,
    )
  }
  assert.deepEqual(resolve({ flags: { kafka: '[::1]:9092' } }).settings.kafka, ['[::1]:9092'])
})

test('docs/configuration.md lists exactly the settings there are', async () => {
  const page = await readFile(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')
  const rows = [
    ...page.matchAll(/^\| (`\w[\w.]*`|–) \| `(POLLUX_\w+)` \| (`--[\w-]+`|–) \|/gm),
  ].map(([, , variable, flag]) => [variable, flag])
  const expected = settingNames.map((name) => [
    variableOf(name),
    isSecret(name) ? '–' : `\`${flagOf(name)}\``,
  ])
  assert.deepEqual(rows, expected)
})
