import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pgliteStore } from '../../src/embedded/pglite-store.ts'
import { PolluxError } from '../../src/errors.ts'
import type { Store } from '../../src/ports/store.ts'
import { rejection } from '../sql/rejection.ts'

const root = mkdtempSync(join(tmpdir(), 'pollux-pglite-'))
after(() => rmSync(root, { recursive: true }))

describe('pgliteStore', () => {
  it('says all that is wrong with its options', () => {
    const wrong = { folder: '', schema: 'pg_own', color: 'red' }
    assert.throws(
      () => pgliteStore(wrong),
      (error) =>
        PolluxError.is(error, 'POLLUX_OPTION_INVALID') &&
        /folder: .*\n.*schema: .*\n.*color: /.test(error.message),
    )
  })

  for (const schema of ['Pollux', 'a-b', '1a', '', 'x'.repeat(64), 'a"b']) {
    it(`refuses the schema '${schema}'`, () => {
      assert.throws(
        () => pgliteStore({ schema }),
        (error) => PolluxError.is(error, 'POLLUX_OPTION_INVALID'),
      )
    })
  }

  it('names its folder in messages', () => {
    assert.equal(pgliteStore({ folder: '.pollux' }).name, 'PGlite .pollux')
    assert.equal(pgliteStore().name, 'PGlite in memory')
  })

  it('says how to install the driver where it is missing', () => {
    const program = `
      import { registerHooks } from 'node:module'
      registerHooks({ resolve(name, context, next) {
        if (name === '@electric-sql/pglite') throw new Error('Cannot find package')
        return next(name, context)
      } })
      const { pgliteStore } = await import('${new URL('../../src/embedded/pglite-store.ts', import.meta.url)}')
      await pgliteStore({ folder: ${JSON.stringify(join(root, 'driver'))} }).open().catch(({ code, message }) => console.log(code, message))
    `
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    })
    assert.match(stdout, /^POLLUX_DRIVER_MISSING .*npm install @electric-sql\/pglite@0\.5\.14/)
  })
})

describe('the folder of a PGlite store', () => {
  const folder = join(root, 'folder')
  let store: Store

  before(async () => {
    store = pgliteStore({ folder })
    await store.open()
  })
  after(() => store.close())

  it('is refused to a second store, and the first one goes on', async () => {
    const error = await rejection(pgliteStore({ folder }).open(), 'POLLUX_FOLDER_LOCKED')
    assert.ok(error.message.includes(folder))
    const { states } = await store.load('s', [Buffer.from('k')], [])
    assert.deepEqual(states, [{ value: null, version: 0, guard: null }])
  })

  it('is refused when another version of PostgreSQL made it, and is left as it is', async () => {
    const other = join(root, 'other-version')
    const version = join(other, 'pglite', 'PG_VERSION')
    mkdirSync(join(other, 'pglite'), { recursive: true })
    writeFileSync(version, '17\n')
    const error = await rejection(pgliteStore({ folder: other }).open(), 'POLLUX_FOLDER_INVALID')
    assert.match(error.message, /Found PostgreSQL 17\./)
    assert.deepEqual(readdirSync(join(other, 'pglite')), ['PG_VERSION'])
  })

  it('is refused when it holds something else, and is left as it is', async () => {
    const other = join(root, 'something-else')
    mkdirSync(join(other, 'pglite'), { recursive: true })
    writeFileSync(join(other, 'pglite', 'letter.txt'), 'dear')
    await rejection(pgliteStore({ folder: other }).open(), 'POLLUX_FOLDER_INVALID')
    assert.deepEqual(readdirSync(join(other, 'pglite')), ['letter.txt'])
  })

  it('is refused when its files are damaged, and is free for another try', async () => {
    const damaged = join(root, 'damaged')
    const first = pgliteStore({ folder: damaged })
    await first.open()
    await first.close()
    writeFileSync(join(damaged, 'pglite', 'global', 'pg_control'), 'nonsense')
    const second = pgliteStore({ folder: damaged })
    const error = await rejection(second.open(), 'POLLUX_FOLDER_INVALID')
    assert.ok(error.message.includes(damaged))
    await rejection(second.open(), 'POLLUX_FOLDER_INVALID')
    await second.close()
  })

  it('lets timers and sockets have their turn between calls that follow each other at once', async () => {
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 1)
    const load = () => store.load('s', [Buffer.from('k')], [])
    for (let calls = 0; turns < 3; calls += 1) {
      assert.ok(calls < 10_000, 'the timer has its turn')
      await load()
    }
    clearInterval(timer)
  })

  it('does not grow with what was overwritten and removed', async () => {
    const key = Buffer.from('big')
    let version = 0
    for (let round = 0; round < 80; round += 1) {
      const value = round % 2 === 0 ? randomBytes(4 * 1024 ** 2) : null
      const result = await store.commit({
        service: 'growth',
        marks: [],
        states: [{ key, value, version, guard: null }],
        ledger: [],
      })
      assert.ok(result.outcome === 'committed')
      version = result.versions[0] as number
    }
    // 160 MB were written, and 4 are left.
    const log = sizeOf(join(folder, 'pglite', 'pg_wal'))
    const data = sizeOf(join(folder, 'pglite', 'base'))
    assert.ok(log <= 128, `${log} MB of log`)
    assert.ok(data <= 128, `${data} MB of data`)
  })
})

/** Megabytes of a folder. */
function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const bytes = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  return Math.round(bytes / 1024 ** 2)
}
