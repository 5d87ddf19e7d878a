import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { loadConfig } from '../../../src/cli/settings/load-config.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pollux-config-'))
})
after(() => rm(folder, { recursive: true, force: true }))

test('Without a config file there is none, and that is no error', async () => {
  assert.equal(await loadConfig(undefined, folder), undefined)
})

test('A named config file that is missing is an error', async () => {
  await assert.rejects(loadConfig('nowhere.ts', folder), { code: 'POLLUX_OPTION_INVALID' })
})

test('pollux.config.ts in the working folder is found, types and all', async () => {
  await writeFile(
    join(folder, 'pollux.config.ts'),
    "const folder: string = '/data'\nexport default { folder }\n",
  )
  assert.deepEqual((await loadConfig(undefined, folder))?.values, { folder: '/data' })
})

test('A config file without a default export, or with a syntax error, is told as such', async () => {
  await writeFile(join(folder, 'none.ts'), 'export const folder = 1\n')
  await assert.rejects(loadConfig('none.ts', folder), /has no configuration.*defineConfig/)
  await writeFile(join(folder, 'broken.ts'), 'export default {\n')
  await assert.rejects(loadConfig('broken.ts', folder), /broken\.ts cannot be loaded/)
})
