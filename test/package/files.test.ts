import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import { before, test } from 'node:test'
import packageJson from '../../package.json' with { type: 'json' }
import { root, runCommand } from '../../scripts/command.ts'

let packed: ReadonlySet<string>

before(async () => {
  const { code, output } = await runCommand('npm', ['pack', '--dry-run', '--json', '--silent'])
  assert.equal(code, 0, output)
  const [{ files }] = JSON.parse(output) as [{ files: { path: string }[] }]
  packed = new Set(files.map(({ path }) => path))
})

test('the package holds what was compiled, its sources and its documentation, and nothing else', () => {
  const expected = [
    /^dist\/[\w/.-]+\.(js|d\.ts)(\.map)?$/,
    /^(dist|src)\/[\w/.-]+\.sql$/,
    /^src\/([\w/.-]+\.ts|[\w/-]+\/README\.md)$/,
    /^docs\/[\w/.-]+\.(md|svg|png)$/,
    /^examples\/[\w/.-]+\.(md|ts|sql)$/,
    /^bench\/README\.md$/,
    /^(package\.json|LICENSE|(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md)$/,
  ]
  const strange = [...packed].filter((path) => !expected.some((pattern) => pattern.test(path)))
  assert.deepEqual(strange, [])
  for (const path of ['README.md', 'CHANGELOG.md', 'LICENSE']) assert.ok(packed.has(path), path)
})

test('everything that package.json points to is in the package', () => {
  const targets = [
    ...Object.values(packageJson.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    ),
    ...Object.values(packageJson.bin),
  ].map((path) => path.replace(/^\.\//, ''))
  assert.deepEqual(
    targets.filter((path) => !packed.has(path)),
    [],
  )
})

test('each file that the packed README and documentation link to is in the package', async () => {
  const pages = [...packed].filter((path) => /^(README\.md|docs\/.+\.md)$/.test(path))
  const lost: string[] = []
  let count = 0
  for (const page of pages) {
    const text = await readFile(join(root, page), 'utf8')
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(link)) continue
      count += 1
      if (!packed.has(normalize(join(page, '..', link)))) lost.push(`${page}: ${link}`)
    }
  }
  assert.ok(count > 0, 'no link was found')
  assert.deepEqual(lost, [])
})

test('each source file is there as JavaScript with its types, and nothing is left of an older build', async () => {
  const sources = await Array.fromAsync(glob('src/**/*.ts', { cwd: root }))
  const wanted = sources.flatMap((path) => {
    const base = path.replace(/^src/, 'dist').replace(/\.ts$/, '')
    return [`${base}.js`, `${base}.js.map`, `${base}.d.ts`, `${base}.d.ts.map`]
  })
  const found = [...packed].filter((path) => path.startsWith('dist/') && !path.endsWith('.sql'))
  assert.deepEqual(found.toSorted(), wanted.toSorted())
})

test('each source map leads to a source in the package', () => {
  assert.ok(existsSync(join(root, 'dist/index.js.map')))
  assert.ok(packed.has('src/index.ts'))
})
