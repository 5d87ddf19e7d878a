import { fail, runCommand } from './command.ts'

/**
 * `npm run check`: everything that can be said about the code without running it. The first step that fails ends it.
 * With names of steps, only these: `npm run check -- types lint`.
 */
const steps = {
  types: ['tsc', '-p', '.'],
  declarations: ['tsc', '-p', 'tsconfig.build.json', '--noEmit'],
  lint: ['oxlint'],
  format: ['biome', 'check', '--max-diagnostics=20', '.'],
  'dead code': ['knip'],
  build: ['node', 'scripts/build.ts'],
  package: ['publint', '--strict', '--pack', 'npm'],
  'package types': ['attw', '--pack', '.', '--profile', 'esm-only'],
} as const

const wanted = process.argv.slice(2)
const known = Object.keys(steps)
const unknown = wanted.filter((name) => !known.includes(name))

if (unknown.length > 0) fail(`No such step: ${unknown.join(', ')}. There are: ${known.join(', ')}.`)
else await checkAll()

async function checkAll(): Promise<void> {
  for (const [name, [command, ...args]] of Object.entries(steps)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    console.log(`\n— ${name}: ${[command, ...args].join(' ')}`)
    const { code } = await runCommand(command, args, { isShown: true })
    if (code !== 0) return fail(`\nThe step '${name}' failed.`)
  }
  console.log('\nAll checks passed.')
}
