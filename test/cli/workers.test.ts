import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { eventually } from '../../src/testing/eventually.ts'
import { childrenOf, isAlive } from './children-of.ts'
import {
  type CliProcess,
  copyingModule,
  lines,
  type StartOptions,
  Workplace,
} from './cli-process.ts'

async function prepared(module: string): Promise<Workplace> {
  const place = new Workplace()
  place.write('services.ts', module)
  const { code, stderr } = await place.pollux(
    ['produce', 'in', '--file', '-', '--key', 'n', '--partitions', '4'],
    lines(20),
  )
  assert.equal(code, 0, stderr)
  return place
}

/** Two workers, both at work. */
async function started(
  place: Workplace,
  args: string[] = [],
  options: StartOptions = {},
): Promise<CliProcess> {
  const running = place.start(['run', 'services.ts', '--workers', '2', ...args], options)
  await running.says(/"message":"running"/, 2)
  return running
}

function pidOf({ child }: CliProcess): number {
  assert.ok(child.pid !== undefined)
  return child.pid
}

function copied(place: Workplace, count: number): Promise<unknown> {
  return eventually(
    `${count} records are copied`,
    async () => (await place.records('out').catch(() => [])).length >= count,
  )
}

// Each test has a folder of its own. They wait more than they work, so they may overlap.
describe('pollux run --workers', { concurrency: 2 }, () => {
  test('Workers share the partitions, and SIGTERM to the first process drains all of them', async () => {
    using place = await prepared(copyingModule())
    const running = await started(place)
    await copied(place, 20)
    await eventually('each worker has two partitions', async () => {
      const { stdout } = await place.pollux(['group', 'copying', '--json'])
      const { members } = JSON.parse(String(stdout)) as { members: { partitions: number }[] }
      return members.length === 2 && members.every(({ partitions }) => partitions === 2)
    })
    const workers = childrenOf(pidOf(running))
    assert.equal(workers.length, 2)
    running.kill('SIGTERM')
    const { code, stderr } = await running.ended()
    assert.equal(code, 0, stderr)
    assert.deepEqual(workers.filter(isAlive), [])
    assert.equal((await place.records('out')).length, 20)
  })

  test('Ctrl-C reaches every process of the job, and still drains once instead of hurrying', async () => {
    using place = await prepared(
      copyingModule('await new Promise((done) => setTimeout(done, 100)); return copy'),
    )
    const running = await started(place, [], { detached: true })
    process.kill(-pidOf(running), 'SIGINT')
    const { code, stderr } = await running.ended()
    assert.equal(code, 0, stderr)
    assert.doesNotMatch(stderr, /at once/)
  })

  test('A crashed worker is reported and started again, and the work goes on', async () => {
    using place = await prepared(copyingModule())
    const running = await started(place)
    await copied(place, 20)
    const before = childrenOf(pidOf(running))
    for (const pid of before) process.kill(pid, 'SIGKILL')
    await running.says(/a worker crashed; it is started again/, 2)
    await running.says(/"message":"running"/, 4)
    const after = childrenOf(pidOf(running))
    assert.equal(after.length, 2)
    assert.deepEqual(
      after.filter((pid) => before.includes(pid)),
      [],
    )
    await place.pollux(['produce', 'in', '--file', '-'], lines(5))
    await copied(place, 25)
    running.kill('SIGTERM')
    const { code, stderr } = await running.ended()
    assert.equal(code, 0, stderr)
  })

  test('A worker that crashes by itself again and again waits longer each time', async () => {
    using place = await prepared(
      copyingModule(
        "if (String(message.value) === '{\"n\":3}') setTimeout(() => { throw new Error('boom') }, 1), await new Promise(() => {}); return copy",
      ),
    )
    const running = place.start(['run', 'services.ts', '--workers', '2'])
    // Of five crashes one of the two has at least three: a second or longer, against half a second at first.
    await running.says(/a worker crashed/, 5)
    const delays = [...running.stderr.matchAll(/"exitCode":6,"restartInMs":(\d+)/g)].map(
      ([, delay]) => Number(delay),
    )
    assert.ok(delays.length >= 5, running.stderr)
    assert.ok(Math.max(...delays) >= 1000, delays.join(' '))
    running.kill('SIGTERM')
    await running.ended()
  })

  test('When the first process is killed, no worker is left working', async () => {
    using place = await prepared(copyingModule())
    const running = await started(place)
    const workers = childrenOf(pidOf(running))
    assert.equal(workers.length, 2)
    running.kill('SIGKILL')
    await eventually('both workers are gone', () => workers.every((pid) => !isAlive(pid)))
    const { stdout } = await place.pollux(['group', 'copying', '--json'])
    assert.equal((JSON.parse(String(stdout)) as { state: string }).state, 'Empty')
  })

  test('A failing handler stops all workers, and the exit code is 1', async () => {
    using place = await prepared(
      copyingModule(
        "if (String(message.value) === '{\"n\":3}') throw new Error('three is bad'); return copy",
      ),
    )
    const running = place.start(['run', 'services.ts', '--workers', '2'])
    const { code, stderr } = await running.ended()
    assert.equal(code, 1, stderr)
    assert.match(stderr, /three is bad/)
    assert.doesNotMatch(stderr, /started again/)
  })

  test('What is wrong with the module is told once, by one worker', async () => {
    using place = new Workplace()
    place.write('services.ts', 'export const a = 1\n')
    const { code, stderr } = await place.pollux(['run', 'services.ts', '--workers', '3'])
    assert.equal(code, 2)
    assert.equal([...stderr.matchAll(/exports no service/g)].length, 1, stderr)
  })

  test('A worker whose thread is blocked for ever is killed in the end, which is code 4', async () => {
    using place = await prepared(copyingModule("appendFileSync('blocked', 'x'); for (;;) {}"))
    const running = place.start([
      'run',
      'services.ts',
      '--workers',
      '2',
      '--drain-timeout',
      '100ms',
      '--stop-timeout',
      '200ms',
    ])
    await eventually('a worker is blocked', () => place.has('blocked'))
    running.kill('SIGTERM')
    const { code, stderr } = await running.ended()
    assert.equal(code, 4, stderr)
    assert.match(stderr, /did not stop in time and is killed/)
  })

  test('The embedded store and several workers are refused, with the store that would do', async () => {
    using place = await prepared(copyingModule('return copy', { state: true }))
    const { code, stderr } = await place.pollux(['run', 'services.ts', '--workers', '2'])
    assert.equal(code, 2)
    assert.match(stderr, /'copying' needs a store.*Expected 1 worker/)
    assert.match(stderr, /hint: .*--postgres/)
  })
})
