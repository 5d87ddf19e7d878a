import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, before, test } from 'node:test'
import { root } from '../../scripts/command.ts'
import { runFile } from '../../scripts/test/run-file.ts'

let folder: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pollux-run-file-'))
})

after(() => rm(folder, { recursive: true }))

async function runSource(
  source: string,
  minutes = 1,
): Promise<Awaited<ReturnType<typeof runFile>>> {
  const path = join(folder, 'example.test.ts')
  await writeFile(path, `import { describe, it, test } from 'node:test'\n${source}`)
  // Inside a test file, node:test would refuse to run another one.
  delete process.env['NODE_TEST_CONTEXT']
  return runFile(relative(join(root, 'test'), path), minutes)
}

test('tests are counted, also within others, suites are not', async () => {
  const result = await runSource(`
    test('a', () => {})
    describe('b', () => { it('c', (t) => t.test('d', () => {})) })`)
  assert.deepEqual([result.passed, result.failures, result.skips], [3, [], []])
})

test('a skipped test, suite or todo is told with its reason', async () => {
  const result = await runSource(`
    test('a', { skip: 'no disk' }, () => {})
    test('b', (t) => t.skip())
    describe('c', { skip: 'no net' }, () => { it('d', () => {}) })
    test('e', { todo: 'later' }, () => {})`)
  assert.deepEqual(result.skips, ['a: no disk', 'b: no reason given', 'c: no net', 'e: later'])
  assert.equal(result.passed, 0)
})

test('a failure is told with its title and error', async () => {
  const result = await runSource(`test('a', () => { throw new Error('broken pipe of clay') })`)
  assert.equal(result.failures.length, 1)
  assert.match(result.failures[0] ?? '', /^a\n.*broken pipe of clay/)
})

test('a failing subtest is told once', async () => {
  const result = await runSource(`test('a', (t) => t.test('b', () => { throw new Error('x') }))`)
  assert.equal(result.failures.length, 1)
  assert.match(result.failures[0] ?? '', /^b\n/)
})

test('a file without a test is a failure', async () => {
  const { failures } = await runSource('void [describe, it, test]')
  assert.deepEqual(failures, ['The file holds no test.'])
})

test('a file that ends with an error after its tests is a failure', async () => {
  const { failures, passed } = await runSource(`
    test('a', () => {})
    process.on('exit', () => { process.exitCode = 3 })`)
  assert.equal(passed, 1)
  assert.match(failures.join(), /^The file itself failed/)
})

test('a file that cannot be loaded is a failure that shows what was printed', async () => {
  const { failures, output } = await runSource(`import 'node:nothing'`)
  assert.match(failures.join(), /^The file itself failed/)
  assert.match(output, /No such built-in module: node:nothing/)
})

test('a file that hangs is ended at its limit', async () => {
  const source = `test('a', () => new Promise(() => setInterval(() => {}, 1_000)))`
  const { failures } = await runSource(source, 1 / 30)
  assert.match(failures.at(-1) ?? '', /did not end within/)
})
