import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Command } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { commands } from '../../src/cli/program.ts'
import { flagOf } from '../../src/cli/settings/settings.ts'
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

test('each pollux command has a row and a section in docs/cli.md', async () => {
  const page = (await readPages()).find(({ path }) => path === 'docs/cli.md')
  assert.ok(page !== undefined)
  const headings = [...page.text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading)
  const missing = commands.filter(
    ({ name }) =>
      !page.text.includes(`| [\`pollux ${name}\`](#`) ||
      !headings.some((heading) => heading.split(' and ').includes(`pollux ${name}`)),
  )
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  )
})

test('each flag of a pollux command in the documentation exists', () => {
  const wrong = lines.flatMap(({ page, line }) => {
    const [, name = '', rest = ''] =
      /^(?:\$ )?(?:\w+=\S+ )*(?:npx )?pollux ([a-z][\w-]*)([^|]*)/.exec(line) ?? []
    const known = flagsOf(name)
    const given = [...rest.matchAll(/ (--[\w-]+)/g)].map(([, flag = '']) => flag)
    return given.filter((flag) => !known.has(flag)).map((flag) => ({ page, line, flag }))
  })
  assert.deepEqual(wrong, [])
})

/** The flags of a command, those of its settings included. */
function flagsOf(name: string): ReadonlySet<string | undefined> {
  const declaration = commands.find((command) => command.name === name)
  const command = new Command()
  declaration?.declare(command)
  const settings = declaration?.settings ?? []
  return new Set([
    '--help',
    '--config',
    ...command.options.map(({ long }) => long),
    ...settings.flatMap((setting) => [flagOf(setting), flagOf(setting).replace('--', '--no-')]),
  ])
}
