import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { commands } from '../../src/cli/program.ts'
import { Workplace } from './cli-process.ts'

const mainFile = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const place = new Workplace()
after(() => place[Symbol.dispose]())

test('Help of the program and of each command goes to stdout and shows examples', async () => {
  const { code, stdout, stderr } = await place.pollux(['--help'])
  assert.deepEqual([code, stderr], [0, ''])
  for (const { name } of commands) assert.match(String(stdout), new RegExp(`^  ${name} `, 'm'))
  for (const { name } of commands) {
    const help = await place.pollux([name, '--help'])
    assert.deepEqual([help.code, help.stderr], [0, ''])
    assert.match(String(help.stdout), new RegExp(`Examples:\n  pollux ${name}`))
  }
})

test('The version is the package’s', async () => {
  const file = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  const { version } = JSON.parse(file) as { version: string }
  assert.equal(String((await place.pollux(['--version'])).stdout), `${version}\n`)
})

test('A wrong command line ends with 2 and one block that names the help', async () => {
  const wrong: [string[], RegExp][] = [
    [[], /No command is given/],
    [['frobnicate'], /There is no command 'frobnicate'/],
    [['run'], /Missing required argument 'module'/],
    [['run', 'a.ts', 'b.ts'], /Too many arguments/],
    [['run', 'a.ts', '--wrokers', '2'], /Unknown option '--wrokers'.*--workers/],
    [['produce', 'orders'], /Required option '--file <path>' not specified/],
    [['consume', 'orders', '--limit'], /--limit needs a value: --limit <n>\./],
    [['topics', '--kafka'], /--kafka needs a value: --kafka <host:port,…>\./],
    [['consume', 'orders', '--limit', '0'], /--limit: expected a whole number from 1/],
    [
      ['consume', 'orders', '--from', 'monday', '--format', 'xml'],
      /--from: expected earliest[\s\S]*--format: expected/,
    ],
    [['consume', 'or/ders'], /This is not a topic name/],
    [['topics', '--workers', '2'], /Unknown option '--workers'/],
    [['topics', '--kafka', 'localhost'], /: --kafka: expected 'host:port'/],
  ]
  for (const [args, message] of wrong) {
    const { code, stdout, stderr } = await place.pollux(args)
    assert.deepEqual([code, String(stdout)], [2, ''], args.join(' '))
    assert.match(stderr, /^error: /)
    assert.match(stderr, message)
    assert.match(stderr, /code: POLLUX_OPTION_INVALID/)
    assert.doesNotMatch(stderr, /^\s+at /m)
  }
})

test('All wrong settings are told at once, and no secret with them', async () => {
  place.write(
    'pollux.config.ts',
    "export default { bufferBytes: 'big', kafka: { brokers: ['localhost:9092'], sasl: { mechanism: 'plain', username: 'u', password: 'tell-nobody' } } }\n",
  )
  const env = { POLLUX_COMMIT_INTERVAL: 'soon', POLLUX_KAFKA_PASSWORD: 'hush-hush' }
  const { code, stderr } = await place.pollux(['run', 'x.ts', '--workers', '0'], '', {
    env: { ...env, POLLUX_DEBUG: '1' },
  })
  assert.equal(code, 2)
  for (const part of ['bufferBytes', 'POLLUX_COMMIT_INTERVAL', '--workers'])
    assert.ok(stderr.includes(part), part)
  assert.doesNotMatch(stderr, /hush-hush|tell-nobody/)
  place.write('pollux.config.ts', 'export default {}\n')
})

test('A variable that Pollux does not know is warned about', async () => {
  place.write('one.ndjson', '1\n')
  const { code, stderr } = await place.pollux(['produce', 't', '--file', 'one.ndjson'], '', {
    env: { POLLUX_BUFER_BYTES: '1' },
  })
  assert.equal(code, 0)
  assert.match(stderr, /POLLUX_BUFER_BYTES/)
})

test('The config file says where the data lies, a flag says otherwise', async () => {
  place.write('other.config.ts', "export default { folder: 'from-config' }\n")
  place.write('one.ndjson', '1\n')
  await place.pollux(['produce', 't', '--file', 'one.ndjson', '--config', 'other.config.ts'])
  assert.ok(place.has('from-config'))
  await place.pollux([
    'produce',
    't',
    '--file',
    'one.ndjson',
    '--config',
    'other.config.ts',
    '--folder',
    'from-flag',
  ])
  assert.ok(place.has('from-flag'))
})

test('An older Node is refused in one line, before anything is loaded that it cannot parse', () => {
  // What stands in for the older Node runs before the program.
  const pretence = `Object.defineProperty(process, 'version', { value: 'v20.20.2' });
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(pretence)}`, mainFile, '--version'],
    { encoding: 'utf8' },
  )
  assert.deepEqual(
    [status, stdout, stderr],
    [2, '', 'Pollux needs Node 24 or newer, this is v20.20.2.\n'],
  )
  assert.doesNotMatch(readFileSync(mainFile, 'utf8'), /^(import|export)\b/m)
})

test('A rejection that nobody awaited is told as one', async () => {
  place.write('lost.ts', "Promise.reject(new RangeError('too far'))\nawait new Promise(() => {})\n")
  const { code, stderr } = await place.pollux(['run', 'lost.ts'])
  assert.equal(code, 6)
  assert.match(stderr, /^error: A promise that nobody awaited was rejected: RangeError: too far$/m)
})
