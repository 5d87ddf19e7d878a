import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { checkWindow } from '../../src/engine/window-check.ts'
import { defineService, type Idempotency, text, topic } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

const day = 24 * 60 * 60_000

/** The topics that the check warns of. */
async function warnings(
  idempotency: Idempotency,
  config: Readonly<Record<string, string>> | undefined,
  ageOfRecord?: number,
): Promise<string[]> {
  const clock = new ManualClock()
  const broker = embeddedBroker({ clock })
  await broker.admin.createTopics([{ name: 'input', partitions: 2 }])
  if (ageOfRecord !== undefined) {
    const producer = await broker.producer()
    const timestamp = clock.now() - ageOfRecord
    const [key, value] = [Buffer.from('k'), Buffer.from('v')]
    await producer.send([
      { topic: 'input', partition: 1, key, value, headers: [], timestamp },
      { topic: 'input', partition: 1, key, value, headers: [], timestamp: clock.now() },
    ])
  }
  const input = topic('input', {
    key: text,
    value: text,
    create: config === undefined ? {} : { config },
  })
  const told: string[] = []
  await checkWindow(defineService('service', { inputs: [input], idempotency, handle() {} }), {
    admin: broker.admin,
    clock,
    logger: {
      debug() {},
      info() {},
      error() {},
      warn: (fields, message) =>
        void told.push(`${(fields as { topic: string }).topic}: ${message}`),
    },
  })
  await broker.close()
  return told
}

const week: Idempotency = { by: 'event-id', window: '7d' }

test('case 28: a topic that keeps records for longer than their events are remembered is told at start', async () => {
  for (const retention of [`${8 * day}`, '-1']) {
    const [warning = ''] = await warnings(week, { 'retention.ms': retention })
    assert.match(warning, /^input: .*longer than their events are remembered.*idempotency\.window/)
  }
  assert.equal(
    (await warnings(week, undefined, 8 * day)).length,
    1,
    'a record of last week is there',
  )
})

test('case 28: nothing is told when the window covers the retention, or when the service goes by something else', async () => {
  assert.deepEqual(await warnings(week, { 'retention.ms': `${7 * day}` }, 6 * day), [])
  assert.deepEqual(await warnings(week, undefined), [])
  assert.deepEqual(await warnings({ by: 'offset' }, { 'retention.ms': '-1' }, 8 * day), [])
})
