import assert from 'node:assert/strict'
import { test } from 'node:test'
import packageJson from '../../package.json' with { type: 'json' }
import { commands } from '../../src/cli/program.ts'
import { fencesOf, readPages } from './markdown.ts'

const lines = (await readPages())
  .flatMap(fencesOf)
  .filter(({ language }) => ['sh', 'bash', 'console'].includes(language))
  .flatMap(({ page, code }) => code.split('\n').map((line) => ({ page, line: line.trim() })))

test('each npm script that the documentation names exists', () => {
  const scripts = Object.keys(packageJson.scripts)
  const used = lines.flatMap(({ page, line }) =>
    [...line.matchAll(/\bnpm (?:run ([\w:-]+)|(test))/g)].map(([, run, test]) => ({
      page,
      script: run ?? test ?? '',
    })),
  )
  assert.ok(used.length > 0, 'no script was found')
  assert.deepEqual(
    used.filter(({ script }) => !scripts.includes(script)),
    [],
  )
})

test('each pollux command that the documentation names exists', () => {
  const names = commands.map(({ name }) => name)
  const used = lines.flatMap(({ page, line }) => {
    const match = /^(?:\$ )?(?:\w+=\S+ )*(?:npx )?pollux ([a-z][\w-]*)/.exec(line)
    return match === null ? [] : [{ page, command: match[1] ?? '' }]
  })
  assert.deepEqual(
    used.filter(({ command }) => !names.includes(command)),
    [],
  )
})
