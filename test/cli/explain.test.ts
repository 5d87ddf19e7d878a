import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { copyingModule, Workplace } from './cli-process.ts'

const place = new Workplace()
after(() => place[Symbol.dispose]())
place.write('services.ts', copyingModule('return copy', { state: true }))
place.write(
  'several.ts',
  `${copyingModule()}
export const second = defineService('second', { inputs: [input], idempotency: 'natural', handle() {} })
export const third = defineService('third', { inputs: [input], handle() {} })
`,
)

test('pollux explain says what is promised, row by row, and sets nothing up', async () => {
  const text = await place.output(['explain', 'services.ts'])
  assert.match(text, /^copying\n {2}Each record has its effect in the store once\./)
  const labels = ['inputs', 'outputs', 'order', 'idempotency', 'state', 'publish', 'fence']
  for (const label of [...labels, 'outside reset'])
    assert.match(text, new RegExp(`^  ${label} +\\S`, 'm'))
  for (const row of [
    /^ {2}polled +yes /m,
    /^ {2}handled +yes /m,
    /^ {2}store committed +no /m,
    /^ {2}published, not acknowledged +no /m,
    /^ {2}acknowledged +no /m,
    /^ {2}offset committed +no /m,
  ])
    assert.match(text, row)
  assert.match(text, /^ {2}Not promised\n {2}- /m)
  assert.match(text, /^ {2}Worth a look\n {2}- /m)
  assert.equal(Math.max(...text.split('\n').map((line) => line.length)) <= 100, true)
  assert.equal(place.has('.pollux'), false)
})

test('It names the store of the configuration, without its password', async () => {
  const env = { POLLUX_POSTGRES: 'postgres://me:never-to-be-seen@db:6543/shop' }
  const { code, stdout, stderr } = await place.pollux(['explain', 'services.ts'], '', { env })
  assert.equal(code, 0, stderr)
  assert.match(String(stdout), /postgres\s+db:6543\/shop/)
  assert.doesNotMatch(stderr + String(stdout), /never-to-be-seen/)
})

test('--only picks services, --json gives each as an object a line', async () => {
  const lines = (await place.output(['explain', 'several.ts', '--json'])).trim().split('\n')
  const found = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    found.map(({ service, store }) => [service, store]),
    [
      ['copying', null],
      ['second', null],
      ['third', null],
    ],
  )
  const second = await place.output(['explain', 'several.ts', '--only', 'second'])
  assert.match(second, /^second\n/)
  assert.match(second, /Your word: repeating is harmless\./)
  assert.doesNotMatch(second, /third/)
})

test('A module without services ends with 2, as for pollux run', async () => {
  place.write('empty.ts', 'export const a = 1\n')
  const { code, stderr } = await place.pollux(['explain', 'empty.ts'])
  assert.equal(code, 2)
  assert.match(stderr, /POLLUX_MODULE_INVALID/)
})
