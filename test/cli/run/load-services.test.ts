import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  collectServices,
  loadServices,
  selectServices,
} from '../../../src/cli/run/load-services.ts'
import { text } from '../../../src/codecs/text.ts'
import { defineService, type Service } from '../../../src/service.ts'
import { topic } from '../../../src/topic.ts'

const orders = topic('orders', { value: text })

function service(name: string): Service {
  return defineService(name, { inputs: [orders], handle: () => undefined })
}

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pollux-modules-'))
})
after(() => rm(folder, { recursive: true, force: true }))

async function load(name: string, content: string): Promise<readonly Service[]> {
  await writeFile(join(folder, name), content)
  return loadServices(name, folder)
}

test('Services are found by name, as default and in arrays, each once', () => {
  const [one, two] = [service('one'), service('two')]
  const three = defineService('three', { inputs: [orders], handleMany: () => {} })
  const found = collectServices(
    { one, default: one, orders, list: [two, three, 5, null], helper: () => one },
    'x.ts',
  )
  assert.deepEqual(
    found.map(({ name }) => name),
    ['one', 'two', 'three'],
  )
})

test('Two services of one name are refused', () => {
  assert.throws(() => collectServices({ a: service('one'), b: service('one') }, 'x.ts'), {
    code: 'POLLUX_MODULE_INVALID',
    message: /two services named 'one'/,
  })
})

test('A module without a service is refused with what it does export', () => {
  assert.throws(() => collectServices({ orders }, 'x.ts'), {
    message: /exports no service.*the exports orders.*export const name = defineService/,
  })
  assert.throws(() => collectServices({}, 'x.ts'), { message: /Found no exports/ })
})

test('Only the chosen services are run, and an unknown name is refused', () => {
  const all = [service('one'), service('two')]
  assert.deepEqual(
    selectServices(all, ['two']).map(({ name }) => name),
    ['two'],
  )
  assert.equal(selectServices(all, undefined), all)
  assert.throws(() => selectServices(all, ['two', 'tree']), {
    code: 'POLLUX_OPTION_INVALID',
    message: /no service 'tree'.*'one', 'two'/,
  })
})

test('A missing file, a folder, a syntax error, an error at loading and a missing import are each told as such', async () => {
  const refused = (message: RegExp) => ({ code: 'POLLUX_MODULE_INVALID', message })
  await assert.rejects(loadServices('nowhere.ts', folder), refused(/There is no file nowhere\.ts/))
  await mkdir(join(folder, 'dir.ts'))
  await assert.rejects(loadServices('dir.ts', folder), refused(/a folder at/))
  await assert.rejects(
    load('syntax.js', 'export const a = 1\nexport const = 2\n'),
    refused(/SyntaxError: Unexpected token.*syntax\.js:2/),
  )
  await assert.rejects(
    load('syntax.ts', 'export const a: = 2\n'),
    refused(/syntax\.ts cannot be loaded/),
  )
  await assert.rejects(load('enum.ts', 'export enum A { B }\n'), refused(/Node strips types only/))
  await assert.rejects(
    load('throws.ts', "throw new Error('the database is down')\n"),
    refused(/the database is down/),
  )
  await assert.rejects(
    load('import.ts', "import 'not-installed-anywhere'\n"),
    refused(/not-installed-anywhere.*Install what is missing/),
  )
  await assert.rejects(load('data.yaml', 'a: 1\n'), refused(/Use a \.ts, \.js or \.mjs file/))
})

test('A wrong definition inside a module keeps its own error', async () => {
  const errors = new URL('../../../src/errors.ts', import.meta.url)
  const content = `import { PolluxError } from '${errors.href}'\nthrow new PolluxError('POLLUX_OPTION_INVALID', 'Service is wrong')\n`
  await assert.rejects(load('wrong.ts', content), { code: 'POLLUX_OPTION_INVALID' })
})
