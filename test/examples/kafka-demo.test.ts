import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startCluster, stopCluster } from '../../scripts/kafka/cluster.ts'
import { kafka } from '../../src/kafka/index.ts'
import { killDemo, leaveRemains, randomBetween, runDemo } from './demo-process.ts'

// A broker of its own, and a new one: the demo's topics on another may be somebody's.
const port = 9792
let folder: string
let args: readonly string[]

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pollux-demo-kafka-'))
  args = ['--kafka', '--port', String(port), '--folder', folder]
  await stopCluster(port)
  const { bootstrap } = await startCluster({ port, fresh: true })
  await leaveRemains(folder, kafka({ brokers: bootstrap }))
})

after(async () => {
  await stopCluster(port)
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
})

test('on Kafka a demo that starts over and is killed while it writes and while it handles comes to what follows from the events', async () => {
  const steps = [
    ['Writing events', randomBetween(600, 4_500)],
    ['Handling events', randomBetween(1, 1_500)],
  ] as const
  for (const [index, [step, count]] of steps.entries()) {
    const reset = index === 0 ? ['--reset'] : []
    const { signal, output } = await killDemo([...args, ...reset], step, count)
    assert.equal(signal, 'SIGKILL', `it ended before it could be killed: ${output}`)
  }
  const { code, output } = await runDemo(...args, '--check')
  assert.equal(code, 0, `killed at ${steps.join('; ')}\n${output}`)
  const second = await runDemo(...args, '--check')
  assert.equal(second.code, 0, second.output)
  assert.match(second.output, /^0 new prices; all 5,665 were handled by an earlier run\.$/m)
})

test('a store whose broker is new starts over, and says so', async () => {
  await stopCluster(port)
  await startCluster({ port, fresh: true })
  const { code, output } = await runDemo(...args, '--check')
  assert.equal(code, 0, output)
  assert.match(output, /^The broker is new: what .* kept of an earlier one is thrown away\.$/m)
  assert.match(output, /^5,665 prices handled in [\d.]+ s; 0 were handled before\.$/m)
  assert.match(
    output,
    /^ {2}came {2}5,659 almanac\.moves, 327 almanac\.highs, 196 almanac\.alerts$/m,
  )
})

test('a store that is gone while the broker remembers is refused, with what to do', async () => {
  await rm(join(folder, 'store'), { recursive: true })
  const { code, output } = await runDemo(...args)
  assert.equal(code, 1)
  assert.match(output, /the store is gone\. Start over: npm run demo -- --kafka .* --reset$/m)
})
