import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { eventually } from '../../src/testing/eventually.ts'
import { address, ask, freshName, newClient } from '../postgres/server.ts'
import { childrenOf } from './children-of.ts'
import { type CliProcess, copyingModule, lines, Workplace } from './cli-process.ts'

const countEach = `
    const seen = Number(String((await context.state.get()) ?? '0')) + 1
    await context.state.put(Buffer.from(String(seen)))
    return output.message({ key: message.key, value: Buffer.from(String(seen)) })`

const made: string[] = []

function newSchema(): string {
  const schema = freshName()
  made.push(schema)
  return schema
}

async function dropSchemas(): Promise<void> {
  for (const schema of made.splice(0)) await ask(`drop schema if exists ${schema} cascade`)
}

function asked(schema: string): string[] {
  return ['--postgres', address(), '--schema', schema]
}

async function counted(schema: string): Promise<number> {
  const [row] = await ask(
    `select coalesce(sum(convert_from(value, 'UTF8')::int), 0)::int as n from ${schema}.pollux_state`,
  )
  return Number(row?.['n'])
}

describe('pollux run on PostgreSQL', { concurrency: 2 }, () => {
  after(dropSchemas)

  test('State lives in the schema that was named, and the first line says store and fence', async () => {
    using place = new Workplace()
    const schema = newSchema()
    place.write('services.ts', copyingModule(countEach, { state: true }))
    await place.output(['produce', 'in', '--file', '-', '--key', 'n'], lines(40))
    const running = place.start(['run', 'services.ts', ...asked(schema)])
    await eventually('all is counted', async () => (await counted(schema).catch(() => 0)) === 40)
    running.kill('SIGTERM')
    const { code, stderr } = await running.ended()
    assert.equal(code, 0, stderr)
    const first = JSON.parse(stderr.split('\n')[0] ?? '') as Record<string, unknown>
    assert.equal(first['message'], 'starting')
    assert.match(String(first['store']), /^postgres .+:\d+\/\w+$/)
    assert.deepEqual(first['fence'], { copying: 'ledger' })
    assert.equal(place.has('.pollux/store'), false)
    const [row] = await ask(`select sum(next)::int as n from ${schema}.pollux_ledger`)
    assert.equal(row?.['n'], 40)
  })

  test('A service that keeps nothing needs no database', async () => {
    using place = new Workplace()
    place.write('services.ts', copyingModule())
    await place.output(['produce', 'in', '--file', '-'], lines(1))
    const env = { POLLUX_POSTGRES: 'postgres://nobody@127.0.0.1:1/none' }
    const running = place.start(['run', 'services.ts'], { env })
    await running.says(/"message":"running"/)
    running.kill('SIGTERM')
    const { code, stderr } = await running.ended()
    assert.equal(code, 0, stderr)
    assert.match(stderr, /"store":"none","fence":\{"copying":"none"\}/)
  })

  test('Workers share the store, and what a killed one had begun counts once', async () => {
    using place = new Workplace()
    const schema = newSchema()
    place.write('services.ts', copyingModule(countEach, { state: true }))
    const produce = ['produce', 'in', '--file', '-', '--key', 'n', '--partitions', '4']
    await place.output(produce, lines(200))
    const running = place.start(['run', 'services.ts', '--workers', '2', ...asked(schema)])
    await running.says(/"message":"running"/, 2)
    const [victim] = childrenOf(running.child.pid ?? 0)
    assert.ok(victim !== undefined)
    await place.output(produce, lines(2_000))
    process.kill(victim, 'SIGKILL')
    await running.says(/a worker crashed; it is started again/)
    await eventually('all is counted', async () => (await counted(schema)) >= 2_200)
    running.kill('SIGTERM')
    const { code, stderr } = await running.ended()
    assert.equal(code, 0, stderr)
    assert.equal(await counted(schema), 2_200)
  })
})

describe('pollux run, and what is wrong with the database', { concurrency: 2 }, () => {
  let place: Workplace
  before(() => {
    place = new Workplace()
    place.write('services.ts', copyingModule(countEach, { state: true }))
  })
  after(() => place[Symbol.dispose]())
  after(dropSchemas)

  function run(...args: string[]): CliProcess {
    return place.start(['run', 'services.ts', ...args], {
      env: { POLLUX_DEBUG: '1', POLLUX_LOG_LEVEL: 'debug', POLLUX_CREATE_TOPICS: 'true' },
    })
  }

  test('A database that is not there is code 5, and its password is in no output', async () => {
    const { code, stdout, stderr } = await run(
      '--postgres',
      'postgres://me:never-to-be-seen@127.0.0.1:1/shop',
    ).ended()
    assert.equal(code, 5, stderr)
    assert.match(stderr, /postgres 127\.0\.0\.1:1\/shop cannot be reached/)
    assert.match(stderr, /code: POLLUX_STORE_UNREACHABLE/)
    assert.doesNotMatch(stderr + String(stdout), /never-to-be-seen/)
  })

  test('case 72: a password is in no output either when the driver cannot read the address', async () => {
    for (const wrong of [
      'postgres://me:never-to-be-%zz@127.0.0.1/shop',
      'postgres://me:never-to-be-%zz@[/shop',
    ]) {
      const { code, stdout, stderr } = await run('--postgres', wrong, '--folder', 'other').ended()
      assert.notEqual(code, 0)
      assert.doesNotMatch(stderr + String(stdout), /never-to-be/)
    }
  })

  test('With --no-postgres-migrate, missing tables end the start with the command that makes them', async () => {
    const { code, stderr } = await run('--no-postgres-migrate', ...asked(newSchema())).ended()
    assert.equal(code, 1)
    assert.match(stderr, /hint: Run `pollux migrate`/)
    assert.match(stderr, /code: POLLUX_MIGRATION_NEEDED/)
  })
})

describe('pollux migrate', { concurrency: 2 }, () => {
  after(dropSchemas)

  test('It makes the tables once, and then there is nothing to do', async () => {
    using place = new Workplace()
    const schema = newSchema()
    const [taken, nothing] = [
      await place.output(['migrate', ...asked(schema)]),
      await place.output(['migrate', ...asked(schema)]),
    ]
    assert.match(taken, new RegExp(`schema ${schema} of postgres .* are up to date now`))
    assert.match(taken, /^ +1 {2}\S/m)
    assert.match(nothing, /there is nothing to do\.\n$/)
    assert.match(
      await place.output(['migrate', '--dry-run', ...asked(schema)]),
      /^-- .*nothing to do/,
    )
    assert.match(
      await place.output(['migrate', '--verify', ...asked(schema)]),
      /are as this version needs them/,
    )
  })

  test('The SQL of --dry-run changes nothing until a person runs it, and does what migrate does', async () => {
    using place = new Workplace()
    const schema = newSchema()
    const sql = await place.output(['migrate', '--dry-run', ...asked(schema)])
    assert.deepEqual(await ask('select from pg_namespace where nspname = $1', [schema]), [])
    const client = await newClient()
    await client.query(sql)
    await client.end()
    assert.match(await place.output(['migrate', ...asked(schema)]), /there is nothing to do/)
    assert.match(
      await place.output(['migrate', '--verify', ...asked(schema)]),
      /are as this version needs them/,
    )
  })

  test('--verify tells what differs, and ends with 1; so does it when a migration is missing', async () => {
    using place = new Workplace()
    const schema = newSchema()
    const missing = await place.pollux(['migrate', '--verify', ...asked(schema)])
    assert.equal(missing.code, 1, missing.stderr)
    assert.match(String(missing.stdout), /^- Migration 1 .*has not been taken/m)
    await place.output(['migrate', ...asked(schema)])
    await ask(`alter table ${schema}.pollux_inbox drop column applied_at`)
    await ask(`alter table ${schema}.pollux_state add column mine text`)
    const { code, stdout, stderr } = await place.pollux(['migrate', '--verify', ...asked(schema)])
    assert.equal(code, 1)
    assert.equal(stderr, '')
    assert.match(String(stdout), /^- .*column applied_at of pollux_inbox/m)
    assert.match(String(stdout), /^- .*column mine of pollux_state/m)
  })

  test('--json gives one object, whatever was asked for', async () => {
    using place = new Workplace()
    const schema = newSchema()
    const json = async (...args: string[]): Promise<Record<string, unknown>> =>
      JSON.parse(
        String((await place.pollux(['migrate', '--json', ...args, ...asked(schema)])).stdout),
      ) as Record<string, unknown>
    const planned = await json('--dry-run')
    const taken = await json()
    assert.deepEqual({ ...planned, dryRun: false }, taken, 'what was planned is what was done')
    const steps = taken['steps'] as { number: number; name: string; statements: string[] }[]
    assert.deepEqual(
      steps.map(({ number }) => number),
      steps.map((_, index) => index + 1),
    )
    assert.equal(taken['schema'], schema)
    assert.deepEqual((await json())['steps'], [])
    assert.deepEqual((await json('--verify'))['differences'], [])
  })

  test('A role that may not make tables is told what is missing', async () => {
    using place = new Workplace()
    const role = freshName()
    await ask(`create role ${role} login`)
    try {
      const url = address({ user: role })
      const args = ['migrate', '--postgres', url, '--schema', newSchema()]
      const { code, stderr } = await place.pollux(args)
      assert.equal(code, 1)
      assert.match(stderr, /code: POLLUX_MIGRATION_NEEDED/)
      assert.match(stderr, /permission denied/)
    } finally {
      await ask(`drop role ${role}`)
    }
  })
})
