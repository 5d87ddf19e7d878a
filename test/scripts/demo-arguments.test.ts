import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { root } from '../../scripts/command.ts'
import { readArguments } from '../../scripts/demo/read-arguments.ts'

test('what the demo is asked for is read, with defaults for the rest', () => {
  const rest = { reset: false, check: false, help: false, folder: undefined, port: 9092 }
  assert.deepEqual(readArguments([]), { ...rest, kafka: false })
  assert.deepEqual(readArguments(['--kafka', '--port', '1']), { ...rest, kafka: true, port: 1 })
})

test('wrong arguments are told in one line', () => {
  const wrong: readonly (readonly [args: readonly string[], problem: string])[] = [
    [['--chekc'], "Unknown option '--chekc'. Did you mean --check?"],
    [['--frobnicate'], "Unknown option '--frobnicate'."],
    [['--folder'], "Option '--folder <value>' argument missing."],
    [['--folder='], "Option '--folder <value>' argument missing."],
    [['--folder', '--check'], "Option '--folder' argument is ambiguous."],
    [['check'], "Unexpected argument 'check'."],
    [['--port', 'x'], "--port: expected a whole number from 1 to 65535, found 'x'."],
    [['--port', '0'], "--port: expected a whole number from 1 to 65535, found '0'."],
  ]
  for (const [args, problem] of wrong) assert.equal(readArguments(args), problem)
})

test('the demo ends with 2 for them, without a stack', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/demo.ts', '--chekc'], {
    cwd: root,
    encoding: 'utf8',
  })
  assert.deepEqual(
    [status, stdout, stderr],
    [2, '', "error: Unknown option '--chekc'. Did you mean --check? See npm run demo -- --help.\n"],
  )
})
