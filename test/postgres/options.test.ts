import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import pg from 'pg'
import { PolluxError } from '../../src/errors.ts'
import { type PostgresOptions, postgres } from '../../src/postgres/index.ts'

function problems(options: unknown): string {
  try {
    postgres(options as PostgresOptions)
  } catch (error) {
    assert.ok(PolluxError.is(error, 'POLLUX_OPTION_INVALID'), inspect(error))
    return error.message
  }
  assert.fail('the options were taken')
}

/** The name of a store made in an environment of its own. */
function nameWith(environment: Record<string, string>, options: PostgresOptions = {}): string {
  const names = ['PGHOST', 'PGPORT', 'PGDATABASE', 'PGUSER']
  const before = names.map((name) => [name, process.env[name]] as const)
  for (const name of names) delete process.env[name]
  Object.assign(process.env, environment)
  try {
    return postgres(options).name
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

describe('the options of postgres()', () => {
  it('are all checked at once', () => {
    const message = problems({
      connectionString: 'mysql://u:hunter2@h/d',
      schema: 'Pg-1',
      migrate: 'perhaps',
      poolSize: 1,
      statementTimeout: '10 seconds',
      colour: 'red',
    })
    for (const part of [/connectionString: /, /schema: /, /migrate: /, /poolSize: .* from 2/])
      assert.match(message, part)
    assert.match(message, /statementTimeout: .*a duration/)
    assert.match(message, /colour: unknown option; known are connectionString, pool, schema, /)
    assert.ok(!message.includes('hunter2'))
  })

  it('are named when they are nearly right', () => {
    assert.match(problems({ poolsize: 3 }), /poolsize: unknown option; did you mean poolSize\?/)
  })

  it('want lockTimeout below statementTimeout, which would come first', () => {
    assert.match(
      problems({ lockTimeout: '20s' }),
      /lockTimeout: expected less than statementTimeout \(15s\), found 20s/,
    )
  })

  it('take a pool of pg, and nothing that it has already', () => {
    const pool = new pg.Pool()
    assert.match(problems({ pool: {} }), /pool: expected a pool of the package pg/)
    assert.match(
      problems({ pool, poolSize: 3, connectionString: 'postgres://h/d' }),
      /connectionString: .*\n.*poolSize: expected nothing beside pool/,
    )
    assert.ok(postgres({ pool }).name)
  })

  it('have to be an object', () => {
    assert.match(problems('postgres://u:hunter2@h/d'), /postgres\(\) needs its options/)
  })
})

describe('the name of a PostgreSQL store', () => {
  for (const [given, name] of Object.entries({
    'postgres://u:hunter2@db.example:6000/shop': 'db.example:6000/shop',
    'postgresql://u:hunter2@db.example/shop?sslmode=require': 'db.example:5432/shop',
    'postgres://u:hunter2@db.example': 'db.example:5432/u',
    'postgres://u:hunter2@[::1]:6000/shop': '[::1]:6000/shop',
    'postgres:///shop?host=/run/postgresql': '/run/postgresql:5432/shop',
    'postgres://u:hunter2@db.example/a%20shop': 'db.example:5432/a shop',
  })) {
    it(`is its place, without user and password: ${name}`, () => {
      assert.equal(nameWith({}, { connectionString: given }), `postgres ${name}`)
    })
  }

  it('is the place that the environment tells', () => {
    assert.equal(nameWith({}), 'postgres localhost:5432/')
    const environment = { PGHOST: 'db', PGPORT: '6000', PGDATABASE: 'shop', PGUSER: 'u' }
    assert.equal(nameWith(environment), 'postgres db:6000/shop')
    assert.equal(nameWith({ PGUSER: 'u' }), 'postgres localhost:5432/u')
    const connectionString = 'postgres://other'
    assert.equal(nameWith(environment, { connectionString }), 'postgres other:6000/shop')
  })

  it('is the place of the pool', () => {
    const parts = new pg.Pool({ host: 'db', port: 6000, database: 'shop', password: 'hunter2' })
    assert.equal(postgres({ pool: parts }).name, 'postgres db:6000/shop')
    assert.equal(
      nameWith({}, { pool: new pg.Pool({ database: 'shop' }) }),
      'postgres localhost:5432/shop',
    )
    const socket = new pg.Pool({ connectionString: '/run/postgresql shop' })
    assert.equal(nameWith({}, { pool: socket }), 'postgres localhost:5432/')
    const text = new pg.Pool({ connectionString: 'postgres://u:hunter2@db:6000/shop' })
    assert.equal(postgres({ pool: text }).name, 'postgres db:6000/shop')
  })
})

describe('what postgres() needs', () => {
  it('is the driver, which is told how to install', () => {
    const program = `
      import { registerHooks } from 'node:module'
      registerHooks({ resolve(name, context, next) {
        if (name === 'pg') throw new Error('Cannot find package')
        return next(name, context)
      } })
      const { postgres } = await import('${new URL('../../src/postgres/index.ts', import.meta.url)}')
      await postgres().open().catch(({ code, message }) => console.log(code, message))
    `
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    })
    assert.match(stdout, /^POLLUX_DRIVER_MISSING .*npm install pg/)
  })

  it('is a server that is there, and no error tells the password', async () => {
    const connectionString = 'postgres://u:hunter2@127.0.0.1:1/shop'
    const store = postgres({ connectionString })
    const error: unknown = await store.open().catch((reason: unknown) => reason)
    assert.ok(PolluxError.is(error, 'POLLUX_STORE_UNREACHABLE'), inspect(error))
    assert.match(error.message, /postgres 127\.0\.0\.1:1\/shop cannot be reached.*ECONNREFUSED/)
    const everything = [error, store].map((one) => inspect(one, { depth: 20, showHidden: true }))
    assert.ok(!everything.join().includes('hunter2'))
  })
})
