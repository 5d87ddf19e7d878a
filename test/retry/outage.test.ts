import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { defineService, run, text, topic } from '../../src/index.ts'
import type { Logger } from '../../src/ports/logger.ts'
import { silent } from '../../src/ports/logger.ts'
import {
  areSettled,
  eventually,
  ManualClock,
  sendTo,
  testRuntime,
} from '../../src/testing/index.ts'
import { deadLettersOf } from './dead-letters.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 4 } })
const count = 2_000

test('case 72: an outage of ten minutes makes no dead letter and costs few calls; the process is not ready, says so once, and goes on by itself', async () => {
  const clock = new ManualClock()
  const broker = embeddedBroker({ clock })
  const lines: string[] = []
  const logger: Logger = {
    ...silent,
    warn: (_, line) => void lines.push(line),
    info: (_, line) => void lines.push(line),
  }
  let isDown = true
  let calls = 0
  const handled = new Set<string>()
  const service = defineService('service', {
    inputs: [input],
    async handle({ value }) {
      calls += 1
      await Promise.resolve()
      if (isDown)
        throw new Error('fetch failed', {
          cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
        })
      handled.add(value)
    },
  })
  const runtime = await run(service, {
    broker,
    clock,
    logger,
    signals: false,
    createTopics: true,
    commitInterval: 0,
  })
  await sendTo(
    broker,
    ...Array.from({ length: count }, (_, n) => input.message({ key: `k${n}`, value: `${n}` })),
  )
  await eventually('it is not ready', () => !runtime.readiness.isReady)
  for (let second = 0; second < 600; second += 1) await clock.advance(1_000)
  assert.ok(!runtime.readiness.isReady)
  assert.ok(calls < 64 + 5 + 250, `${calls} calls`)
  isDown = false
  await eventually('all are handled', async () => {
    await clock.advance(1_000)
    return await areSettled(broker, [service])
  })
  assert.equal(handled.size, count)
  assert.ok(runtime.readiness.isReady)
  assert.equal(runtime.counts[0]?.outages, 1)
  assert.equal((await deadLettersOf(broker, 'service')).length, 0)
  const told = lines.filter((line) => line.includes('handlers'))
  assert.deepEqual(told, [
    'handlers fail, and no message is at fault: waiting until one succeeds',
    'handlers work again',
  ])
  await runtime.stop()
})

test('one message that points to where nobody is holds its key alone', async () => {
  const handled: string[] = []
  const service = defineService('service', {
    inputs: [input],
    handle({ key, value }) {
      if (key === 'lost') throw Object.assign(new Error('no such host'), { code: 'ENOTFOUND' })
      handled.push(value)
    },
  })
  await using runtime = await testRuntime(service)
  await runtime.send(input.message({ key: 'lost', value: '0' }))
  for (let n = 1; n <= 100; n += 1) {
    await runtime.send(input.message({ key: `k${n % 7}`, value: `${n}` }))
    await runtime.clock.advance(1_000)
  }
  await eventually('the others are handled', () => handled.length === 100)
  assert.equal(runtime.counts[0]?.outages, 0)
  assert.equal(runtime.counts[0]?.deadLetters, 0)
})
