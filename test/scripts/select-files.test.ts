import assert from 'node:assert/strict'
import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import { root } from '../../scripts/command.ts'
import { parts as realParts } from '../../scripts/test/parts.ts'
import { selectFiles } from '../../scripts/test/select-files.ts'

const parts = [
  { name: 'one', files: ['*.test.ts', 'deep/**/*.test.ts'], needs: [] },
  { name: 'two', files: ['two/!(kafka-*).test.ts'], needs: [] },
  { name: 'three', files: ['two/kafka-*.test.ts'], needs: [] },
]
const files = ['a.test.ts', 'deep/er/b.test.ts', 'two/c.test.ts', 'two/kafka-d.test.ts']

function filesByPart(wanted: string[]): object {
  const { selected, problems } = selectFiles(parts, files, wanted)
  assert.deepEqual(problems, [])
  return Object.fromEntries(selected.map((one) => [one.part.name, one.files]))
}

test('each file is in the part whose glob it matches', () => {
  assert.deepEqual(filesByPart([]), {
    one: ['a.test.ts', 'deep/er/b.test.ts'],
    two: ['two/c.test.ts'],
    three: ['two/kafka-d.test.ts'],
  })
})

test('parts and files can be asked for by name', () => {
  assert.deepEqual(filesByPart(['three', 'test/a.test.ts']), {
    one: ['a.test.ts'],
    three: ['two/kafka-d.test.ts'],
  })
})

test('a file in no part is a problem', () => {
  const { problems } = selectFiles(parts, ['elsewhere/e.test.ts'], [])
  assert.match(problems.join(), /test\/elsewhere\/e\.test\.ts must belong to one part.*none/)
})

test('a file in two parts is a problem', () => {
  const { problems } = selectFiles([...parts, ...parts], ['a.test.ts'], [])
  assert.match(problems.join(), /belongs to one and one/)
})

test('a name that is neither part nor file is a problem that lists the parts', () => {
  const { problems } = selectFiles(parts, files, ['four'])
  assert.match(problems.join(), /'four' is neither a part nor a test file\. Parts: one, two, three/)
})

test('no part of the repository takes a file of Kafka among those that need none', () => {
  const { selected, problems } = selectFiles(realParts, ['cli/kafka-run.test.ts'], [])
  assert.deepEqual(problems, [])
  assert.deepEqual(selected[0]?.part.needs, ['kafka'])
})

test('each part of the repository has files', async () => {
  const found = await Array.fromAsync(glob('**/*.test.ts', { cwd: join(root, 'test') }))
  const { selected } = selectFiles(realParts, found, [])
  assert.deepEqual(
    selected.map(({ part }) => part.name),
    realParts.map(({ name }) => name),
  )
})
