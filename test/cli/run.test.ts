import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { eventually } from '../../src/testing/eventually.ts'
import { copyingModule, lines, Workplace } from './cli-process.ts'

/** A workplace with records in the topic `in`. */
async function prepared(count: number, module: string, partitions = '2'): Promise<Workplace> {
  const place = new Workplace()
  place.write('in.ndjson', lines(count))
  place.write('services.ts', module)
  const { code, stderr } = await place.pollux([
    'produce',
    'in',
    '--file',
    'in.ndjson',
    '--key',
    'n',
    '--partitions',
    partitions,
  ])
  assert.equal(code, 0, stderr)
  return place
}

async function group(place: Workplace): Promise<{
  state: string
  lag: number
  withoutOffset: number
  partitions: { offset: number | null; lag: number | null }[]
}> {
  const { stdout } = await place.pollux(['group', 'copying', '--json'])
  return JSON.parse(String(stdout)) as Awaited<ReturnType<typeof group>>
}

// Each test has a folder of its own. They wait more than they work, so they may overlap.
describe('pollux run', { concurrency: 2 }, () => {
  test('A service runs until SIGTERM, and everything begun is finished and committed', async () => {
    using place = await prepared(50, copyingModule())
    const running = place.start(['run', 'services.ts'])
    await eventually(
      'all is copied',
      async () => (await place.records('out').catch(() => [])).length === 50,
    )
    running.kill('SIGTERM')
    const { code, stdout, stderr } = await running.ended()
    assert.deepEqual([code, String(stdout)], [0, ''], stderr)
    const report = await group(place)
    assert.deepEqual([report.state, report.lag, report.withoutOffset], ['Empty', 0, 0])
    for (const line of stderr.trim().split('\n')) assert.equal(typeof JSON.parse(line), 'object')
  })

  test('SIGINT while handlers run waits for them: what they did is not done again', async () => {
    const handler =
      "appendFileSync('begun', 'x'); await new Promise((done) => setTimeout(done, 300)); appendFileSync('finished', 'x'); return copy"
    using place = await prepared(4, copyingModule(handler))
    const running = place.start(['run', 'services.ts'])
    await eventually('a handler runs', () => place.has('begun'))
    running.kill('SIGINT')
    const { code, stderr } = await running.ended()
    assert.equal(code, 0, stderr)
    const finished = readFileSync(join(place.folder, 'finished'), 'utf8').length
    assert.equal(readFileSync(join(place.folder, 'begun'), 'utf8').length, finished)
    assert.equal((await place.records('out')).length, finished)
    const { partitions } = await group(place)
    assert.equal(
      partitions.reduce((sum, { offset }) => sum + (offset ?? 0), 0),
      finished,
    )
  })

  test('A second signal cuts a hanging handler short, which is code 3, and the message comes again', async () => {
    const handler = "appendFileSync('begun', 'x'); await new Promise(() => {})"
    using place = await prepared(1, copyingModule(handler))
    const running = place.start(['run', 'services.ts'])
    await eventually('the handler runs', () => place.has('begun'))
    running.kill('SIGTERM')
    await running.says(/what has begun is finished first/)
    // The first one's echo is passed over, so the second may have to be sent again.
    await eventually(
      'the second signal is heard',
      () => {
        running.kill('SIGTERM')
        return running.stderr.includes('stopping at once') || running.child.exitCode !== null
      },
      { every: 150 },
    )
    const { code, stderr } = await running.ended()
    assert.equal(code, 3, stderr)
    assert.deepEqual((await place.records('in')).length, 1)
    const { code: again } = await restart(place)
    assert.equal(again, 0)
  })

  /** Runs the services again, with a handler that works, until the group has no lag. */
  async function restart(place: Workplace): Promise<{ readonly code: number | null }> {
    place.write('services.ts', copyingModule())
    const running = place.start(['run', 'services.ts'])
    await eventually(
      'the message is handled at last',
      async () => (await place.records('out').catch(() => [])).length >= 1,
    )
    running.kill('SIGTERM')
    return running.ended()
  }

  test('The drain timeout ends the waiting for a hanging handler, which is code 3', async () => {
    using place = await prepared(
      1,
      copyingModule("appendFileSync('begun', 'x'); await new Promise(() => {})"),
    )
    const running = place.start([
      'run',
      'services.ts',
      '--drain-timeout',
      '300ms',
      '--stop-timeout',
      '20s',
    ])
    await eventually('the handler runs', () => place.has('begun'))
    running.kill('SIGTERM')
    const { code, stderr } = await running.ended()
    assert.equal(code, 3, stderr)
  })

  test('A signal while the module is loading ends at once with 0: nothing had begun', async () => {
    using place = await prepared(
      1,
      copyingModule('return copy', {
        before:
          "appendFileSync('loading', 'x'); await new Promise((done) => setTimeout(done, 600_000))",
      }),
    )
    const running = place.start(['run', 'services.ts'])
    await eventually('the module is loading', () => place.has('loading'))
    running.kill('SIGTERM')
    const { code, signal } = await running.ended(20_000)
    assert.deepEqual([code, signal], [0, null])
  })

  test('A signal at any moment of the start leads to a clean end', async () => {
    using place = await prepared(20, copyingModule())
    for (let delay = 0; delay < 900; delay += 90) {
      const running = place.start(['run', 'services.ts'])
      await new Promise((done) => setTimeout(done, delay))
      running.kill('SIGTERM')
      const { code, signal, stderr } = await running.ended(20_000)
      // Before the program's first line runs, the system itself ends the process.
      assert.ok(
        code === 0 || signal === 'SIGTERM',
        `after ${delay} ms: ${code} ${signal}\n${stderr}`,
      )
      assert.doesNotMatch(stderr, /^error:/m)
    }
  })

  test('A failing handler stops the service with code 1 and says what failed', async () => {
    using place = await prepared(
      10,
      copyingModule(
        "if (String(message.value) === '{\"n\":7}') throw new Error('seven is bad'); return copy",
      ),
    )
    const { code, stderr } = await place.pollux(['run', 'services.ts'])
    assert.equal(code, 1)
    assert.match(stderr, /^error: .*seven is bad/m)
    assert.match(stderr, /code: POLLUX_HANDLER_FAILED/)
    assert.ok((await group(place)).lag >= 1)
  })

  test('An error that nothing catches ends with 6', async () => {
    using place = await prepared(
      1,
      copyingModule("setTimeout(() => { throw new Error('out of the blue') }, 10); return copy"),
    )
    const { code, stderr } = await place.pollux(['run', 'services.ts'])
    assert.equal(code, 6)
    assert.match(stderr, /error: out of the blue/)
  })

  test('A module that waits for something that cannot come is told as such, not taken for a success', async () => {
    using place = new Workplace()
    place.write(
      'services.ts',
      copyingModule('return copy', { before: 'await new Promise(() => {})' }),
    )
    const { code, stderr } = await place.pollux(['run', 'services.ts'])
    assert.equal(code, 6)
    assert.match(stderr, /ended before it was through/)
  })

  test('A module without services, a missing one and wrong options end with 2', async () => {
    using place = new Workplace()
    place.write('empty.ts', 'export const a = 1\n')
    place.write('good.ts', copyingModule())
    const wrong: [string[], string][] = [
      [['run', 'empty.ts'], 'POLLUX_MODULE_INVALID'],
      [['run', 'nowhere.ts'], 'POLLUX_MODULE_INVALID'],
      [['run', 'good.ts', '--only', 'other'], 'POLLUX_OPTION_INVALID'],
      [
        ['run', 'good.ts', '--drain-timeout', '30s', '--stop-timeout', '10s'],
        'POLLUX_OPTION_INVALID',
      ],
    ]
    for (const [args, expected] of wrong) {
      const { code, stderr } = await place.pollux(args)
      assert.equal(code, 2, stderr)
      assert.ok(stderr.includes(`code: ${expected}`), stderr)
    }
  })

  test('State is kept in the folder from one run to the next', async () => {
    const handler = `
    const seen = Number(String((await context.state.get()) ?? '0')) + 1
    await context.state.put(Buffer.from(String(seen)))
    return output.message({ key: message.key, value: Buffer.from(String(seen)) })`
    using place = await prepared(0, copyingModule(handler, { state: true }))
    for (const seen of ['1', '2']) {
      await place.pollux(['produce', 'in', '--file', '-', '--key', 'k'], '{"k":"a"}\n')
      const running = place.start(['run', 'services.ts'])
      await eventually(
        'the message is handled',
        async () => (await place.records('out').catch(() => [])).length === Number(seen),
        { deadline: 120_000 },
      )
      running.kill('SIGTERM')
      const { code, stderr } = await running.ended()
      assert.equal(code, 0, stderr)
      assert.equal(stderr.includes('setting up the store, once'), seen === '1', stderr)
    }
    assert.deepEqual(
      (await place.records('out')).map(({ value }) => value),
      [1, 2],
    )
  })

  test('Log lines begin at the level that is asked for', async () => {
    using place = await prepared(
      1,
      copyingModule("context.log.debug({}, 'very detailed'); return copy"),
    )
    const loud = place.start(['run', 'services.ts', '--log-level', 'debug'])
    await loud.says(/very detailed/)
    loud.kill('SIGTERM')
    await loud.ended()
    place.write('in.ndjson', lines(1))
    await place.pollux(['produce', 'in', '--file', 'in.ndjson'])
    const quiet = place.start(['run', 'services.ts'], { env: { POLLUX_LOG_LEVEL: 'silent' } })
    await eventually('both are copied', async () => (await place.records('out')).length === 2)
    quiet.kill('SIGTERM')
    const { code, stderr } = await quiet.ended()
    assert.deepEqual([code, stderr], [0, ''])
  })
})
