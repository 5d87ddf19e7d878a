import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { pgliteStore } from '../../src/embedded/pglite-store.ts'
import { Workplace } from './cli-process.ts'

const place = new Workplace()
after(() => place[Symbol.dispose]())

test('Where there is no embedded store, none is made: another one may be meant', async () => {
  const { code, stderr } = await place.pollux(['migrate'])
  assert.equal(code, 2)
  assert.match(stderr, /There is no embedded store in \.pollux\/store[\s\S]*--postgres/)
  assert.equal(place.has('.pollux'), false)
})

test('The embedded store’s tables are up to date once it is there, and are as they should be', async () => {
  const store = pgliteStore({ folder: `${place.folder}/mine/store` })
  await store.open()
  await store.close()
  const args = ['--folder', 'mine']
  assert.match(
    await place.output(['migrate', ...args]),
    /^The tables in schema pollux of PGlite mine\/store are up to date: there is nothing to do\.\n$/,
  )
  assert.match(await place.output(['migrate', '--verify', ...args]), /as this version needs them/)
})

test('--dry-run and --verify exclude each other', async () => {
  const { code, stderr } = await place.pollux(['migrate', '--dry-run', '--verify'])
  assert.equal(code, 2)
  assert.match(stderr, /'--verify' cannot be used with option '--dry-run'/)
})
