import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { demoTopics } from '../../scripts/demo/place.ts'
import { startCluster, stopCluster } from '../../scripts/kafka/cluster.ts'
import { kafka } from '../../src/kafka/index.ts'
import { DemoProcess, killDemo, leaveRemains, randomBetween, runDemo } from './demo-process.ts'

// A broker of its own, and a new one: the demo's topics on another may be somebody's.
const port = 9792
let folder: string
let args: readonly string[]
let brokers: readonly string[]

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pollux-demo-kafka-'))
  args = ['--kafka', '--port', String(port), '--folder', folder]
  await stopCluster(port)
  brokers = (await startCluster({ port, fresh: true })).bootstrap
  await leaveRemains(folder)
})

after(async () => {
  await stopCluster(port)
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
})

test('on Kafka a demo that is killed while it writes and while it handles comes to what follows from the events', async () => {
  const steps = [
    ['Writing events', randomBetween(600, 4_500)],
    ['Handling events', randomBetween(1, 1_500)],
  ] as const
  const outputs: string[] = []
  for (const [step, count] of steps) {
    const { signal, output } = await killDemo(args, step, count)
    assert.equal(signal, 'SIGKILL', `it ended before it could be killed: ${output}`)
    outputs.push(output)
  }
  assert.match(
    outputs[0] ?? '',
    /^The broker is new: what .* kept of an earlier one is thrown away\.$/m,
  )
  const { code, output } = await runDemo(...args, '--check')
  assert.equal(code, 0, `killed at ${steps.join('; ')}\n${output}`)
  const second = await runDemo(...args, '--check')
  assert.equal(second.code, 0, second.output)
  assert.match(second.output, /^0 new prices; all 5,665 were handled by an earlier run\.$/m)
})

test('a store that is gone while the broker remembers is refused, until --reset empties the topics', async () => {
  await rm(join(folder, 'store'), { recursive: true })
  const { code, output } = await runDemo(...args)
  assert.equal(code, 1)
  assert.match(output, /the store is gone\. Start over: npm run demo -- --kafka .* --reset$/m)
  const demo = new DemoProcess([...args, '--reset'])
  await demo.says('Setting up the databases')
  demo.child.kill('SIGKILL')
  await demo.ended()
  const broker = kafka({ brokers })
  await broker.connect()
  try {
    const ranges = await broker.admin.ranges(demoTopics.map(({ name }) => name))
    assert.deepEqual(
      ranges.filter(({ latest }) => latest > 0),
      [],
    )
  } finally {
    await broker.close()
  }
})
