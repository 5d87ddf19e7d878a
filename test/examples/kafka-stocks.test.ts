import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startCluster, stopCluster } from '../../scripts/kafka/cluster.ts'
import { killDemo, randomBetween, runDemo } from './demo-process.ts'

// A broker of its own, and a new one: the demo's topics on another may be somebody's.
const port = 9792
let folder: string
let args: readonly string[]

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pollux-demo-kafka-'))
  args = ['--kafka', '--port', String(port), '--folder', folder]
  await stopCluster(port)
  await startCluster({ port, fresh: true })
})

after(async () => {
  await stopCluster(port)
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
})

test('on Kafka the demo comes to what the files say, and a second run does nothing twice', async () => {
  const first = await runDemo(...args, '--check')
  assert.equal(first.code, 0, first.output)
  assert.match(first.output, /^5,665 prices handled in [\d.]+ s; 0 were handled before\.$/m)
  assert.match(
    first.output,
    /^Written to the topics: 5,659 stocks\.moves, 327 stocks\.highs, 196 stocks\.alerts\.$/m,
  )
  const second = await runDemo(...args, '--check')
  assert.equal(second.code, 0, second.output)
  assert.match(second.output, /^0 new prices; all 5,665 were handled by an earlier run\.$/m)
  assert.match(
    second.output,
    /^Written to the topics: 5,659 stocks\.moves, 327 stocks\.highs, 196 stocks\.alerts\.$/m,
  )
})

test('on Kafka a demo that was killed three times comes to the same end', async () => {
  const steps = [
    ['Writing prices', randomBetween(600, 4_500)],
    ['Handling prices', randomBetween(1, 1_500)],
    ['Handling prices', randomBetween(2_000, 3_500)],
  ] as const
  const kills = []
  for (const [index, [step, count]] of steps.entries()) {
    const { signal } = await killDemo([...args, ...(index === 0 ? ['--reset'] : [])], step, count)
    kills.push(signal)
  }
  // The last may have come too late on a quick machine; that the first two did not is what counts.
  assert.deepEqual(kills.slice(0, 2), ['SIGKILL', 'SIGKILL'])
  const { code, output } = await runDemo(...args, '--check')
  assert.equal(code, 0, `killed at ${steps.join('; ')}\n${output}`)
})

test('a store whose broker is new starts over, and says so', async () => {
  await stopCluster(port)
  await startCluster({ port, fresh: true })
  const { code, output } = await runDemo(...args, '--check')
  assert.equal(code, 0, output)
  assert.match(output, /^The broker is new: what .* kept of an earlier one is thrown away\.$/m)
  assert.match(output, /^5,665 prices handled in [\d.]+ s; 0 were handled before\.$/m)
})

test('a store that is gone while the broker remembers is refused, with what to do', async () => {
  await rm(join(folder, 'store'), { recursive: true })
  const { code, output } = await runDemo(...args)
  assert.equal(code, 1)
  assert.match(output, /knows nothing of it\. Start over: npm run demo -- --kafka .* --reset$/m)
})
