import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../scripts/command.ts'
import { optionsPage } from '../../scripts/docs/options-page.ts'
import { errorTable } from '../../src/errors.ts'

test('docs/options.md says what the option tables say', async () => {
  const written = await readFile(join(root, 'docs/options.md'), 'utf8')
  assert.equal(written, optionsPage(), 'docs/options.md is behind the code: npm run docs')
})

test('docs/errors.md has a heading for each error code, and for no other', async () => {
  const text = await readFile(join(root, 'docs/errors.md'), 'utf8')
  const headings = [...text.matchAll(/^### (POLLUX_\w+)$/gm)].map(([, code]) => code)
  assert.deepEqual(headings.toSorted(), Object.keys(errorTable).toSorted())
})

test('docs/errors.md tells for each code what to do', async () => {
  const text = await readFile(join(root, 'docs/errors.md'), 'utf8')
  const without = text
    .split(/^### /m)
    .slice(1)
    .filter((section) => !/^\*Do:\* \S/m.test(section))
    .map((section) => section.split('\n')[0])
  assert.deepEqual(without, [])
})
