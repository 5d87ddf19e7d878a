import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { defineService } from '../../src/index.ts'
import { run } from '../../src/run.ts'
import { brokerOver } from '../../src/testing/broker-over.ts'
import { eventually, testRuntime, within } from '../../src/testing/index.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { unreachable } from '../cases/faulty-store.ts'
import { kept } from './kept.ts'
import { idle, input, memoryTable, output, place, scheduled, start } from './scheduled.ts'

test('a run comes at once, then at each turn exactly, in a transaction of its own', async () => {
  const { table, clock, store, data } = place()
  const runs: number[] = []
  const service = scheduled(({ db, now }) => {
    runs.push(now - start)
    db.write('runs', `${runs.length}`)
  })
  await using _ = await testRuntime(service, { store: store(), clock })
  await eventually('the first run', () => table.rows.get('runs') === '1')
  await clock.advance(999)
  await idle()
  assert.deepEqual(runs, [0])
  await clock.advance(1)
  await idle()
  assert.deepEqual(runs, [0, 1_000])
  for (let turn = 0; turn < 3; turn += 1) {
    await clock.advance(1_000)
    await idle()
  }
  assert.deepEqual(runs, [0, 1_000, 2_000, 3_000, 4_000])
  assert.equal(table.rows.get('runs'), '5')
  const row = data.ledger.get(JSON.stringify(['timing', 'input', 0]))
  assert.deepEqual([row?.unit, row?.next], [5, 0], 'its unit goes up, its position stays')
})

test('a run counts, and has the time and the signal of a stop, as handlers have', async () => {
  const { clock, store } = place()
  const seen: boolean[] = []
  const service = scheduled((context) => {
    context.count('ran')
    context.count('found', 3)
    seen.push(context.clock === clock, context.stopping.aborted)
  })
  await using runtime = await testRuntime(service, { store: store(), clock })
  await eventually('the first run', () => seen.length > 0)
  assert.deepEqual(seen, [true, false])
  assert.deepEqual(runtime.counts[0]?.own, { ran: 1, found: 3 })
})

test('a run that is late makes the next one late, never two at once and none made up for', async () => {
  const { clock, store } = place()
  const runs: number[] = []
  let release = (): void => {}
  const service = scheduled(async ({ now }) => {
    runs.push(now - start)
    if (runs.length === 1) await new Promise<void>((resolve) => (release = resolve))
  })
  await using _ = await testRuntime(service, { store: store(), clock })
  await eventually('the first run', () => runs.length === 1)
  await clock.advance(3_500)
  await idle()
  assert.deepEqual(runs, [0])
  release()
  await idle()
  assert.deepEqual(runs, [0, 3_500])
  await clock.advance(999)
  await idle()
  assert.deepEqual(runs, [0, 3_500])
  await clock.advance(1)
  await idle()
  assert.deepEqual(runs, [0, 3_500, 4_500])
})

test('a run that asks for more is called again at once, and messages have their turn in between', async () => {
  const { table, clock, store } = place()
  const order: string[] = []
  const service = defineService('timing', {
    inputs: [input],
    uses: { db: memoryTable },
    schedule: {
      async run({ again }) {
        order.push('run')
        await new Promise(setImmediate)
        // Until the message has been handled, and once more.
        if (!order.includes('a') || order.at(-2) === 'a') again()
      },
    },
    async handle({ key, value }, { db }) {
      order.push(value)
      // The next one gets a transaction of its own.
      await clock.advance(300)
      db.write(key, value)
    },
  })
  await using runtime = await testRuntime(service, { store: store(), clock })
  await eventually('the first run', () => order.length > 0)
  await runtime.send(input.message({ key: 'a', value: 'a', partition: 1 }))
  await runtime.settled()
  await eventually('two more runs', () => order.slice(order.indexOf('a')).length === 3)
  assert.equal(table.rows.get('a'), 'a')
})

test('outputs of a run are stored with it and published, under ids of their own', async () => {
  const { table, clock, store } = place()
  let count = 0
  const service = scheduled(({ db }) => {
    count += 1
    db.write('runs', `${count}`)
    return [1, 2].map((n) => output.message({ key: 'k', value: `${count}.${n}` }))
  })
  await using runtime = await testRuntime(service, { store: store(), clock })
  await eventually('the first run', () => table.rows.get('runs') === '1')
  await clock.advance(1_000)
  await eventually('all outputs', async () => (await runtime.messages(output)).length === 4)
  const messages = await runtime.messages(output)
  assert.deepEqual(
    messages.map(({ value, id }) => [value, id.replaceAll(/~\w+/g, '')]),
    [
      ['1.1', `timing:schedule/input/0/${start}/1:output:0`],
      ['1.2', `timing:schedule/input/0/${start}/1:output:1`],
      ['2.1', `timing:schedule/input/0/${start}/2:output:0`],
      ['2.2', `timing:schedule/input/0/${start}/2:output:1`],
    ],
  )
  assert.deepEqual(await within('it stops', runtime.stop(), 5_000), {
    outcome: 'drained',
    abandoned: 0,
  })
})

test('a run that throws has written nothing, is told once, makes the service not ready, and comes again', async () => {
  const { table, clock, store } = place()
  const lines: string[] = []
  const keep = (_: object, message: string): void => void lines.push(message)
  let isBad = true
  let runs = 0
  const service = scheduled(({ db }) => {
    runs += 1
    db.write('runs', `${runs}`)
    if (isBad) throw new Error('as planned')
  })
  const runtime = await run([service], {
    broker: embeddedBroker(),
    store: store(),
    clock,
    signals: false,
    createTopics: true,
    logger: { debug() {}, info: keep, warn: keep, error: keep },
  })
  try {
    await eventually('the first run', () => runs === 1)
    await clock.advance(1_000)
    await idle()
    assert.equal(runs, 2)
    assert.equal(table.rows.get('runs'), undefined)
    assert.deepEqual(runtime.readiness, {
      isReady: false,
      waitingFor: ['a schedule whose runs fail'],
    })
    assert.equal(runtime.counts[0]?.failedRuns, 2)
    isBad = false
    await clock.advance(1_000)
    await eventually('it works again', () => runtime.readiness.isReady)
    assert.equal(table.rows.get('runs'), '3')
    assert.equal(lines.filter((line) => line.includes('as planned')).length, 1)
    assert.equal(lines.filter((line) => line.includes('succeed again')).length, 1)
  } finally {
    await runtime.stop()
  }
})

test('the end of a transaction is no fault of a run: it is done again, once', async () => {
  const { table, clock, store } = place()
  const inner = store()
  const { transactions } = inner
  assert.ok(transactions)
  let commits = 0
  const faulty = storeOver(inner, {
    transactions: {
      capability: transactions.capability,
      begin: async () => {
        const transaction = await transactions.begin()
        return {
          broken: undefined,
          attempt: (body) => transaction.attempt(body),
          rollback: () => transaction.rollback(),
          async commit(unit) {
            commits += 1
            // The answer to the first is lost, though it was committed.
            const result = await transaction.commit(unit)
            if (commits === 1) throw unreachable()
            return result
          },
        }
      },
    },
  })
  const service = scheduled(({ db }) => {
    db.write('runs', `${table.rows.get('runs') ?? ''}x`)
    return output.message({ key: 'k', value: 'x' })
  })
  await using runtime = await testRuntime(service, { store: faulty, clock })
  await eventually('the second run', () => table.rows.get('runs') === 'xx')
  await eventually('both outputs', async () => (await runtime.messages(output)).length === 2)
  const ids = (await runtime.messages(output)).map(({ id }) => id)
  assert.equal(new Set(ids).size, 2)
})

test('a run waits until what a previous owner has left is published', async () => {
  const { data, clock, table, store } = place()
  const broker = kept(embeddedBroker())
  const first = await testRuntime(
    scheduled(() => undefined),
    { broker, clock, store: store() },
  )
  await eventually('the first run', () => data.ledger.get(name(0))?.unit === 1)
  await first.stop()
  const row = data.ledger.get(name(0))
  assert.ok(row)
  const left = {
    topic: 'output',
    partition: undefined,
    key: Buffer.from('k'),
    value: Buffer.from('left'),
    headers: [],
    timestamp: undefined,
  }
  data.ledger.set(name(0), {
    ...row,
    unpublished: [{ unit: 1, records: [left], storedAt: start }],
  })
  const service = scheduled(({ db }) => {
    db.write('runs', 'x')
    return output.message({ key: 'k', value: 'new' })
  })
  const gate = Promise.withResolvers<void>()
  let isSending = false
  const slow = brokerOver(broker, {
    async producer() {
      const producer = await broker.producer()
      return {
        check: (record) => producer.check(record),
        close: () => producer.close(),
        async send(records) {
          isSending = true
          await gate.promise
          return await producer.send(records)
        },
      }
    },
  })
  await using second = await testRuntime(service, { broker: slow, clock, store: store() })
  await eventually('it is on its way', () => isSending)
  await clock.advance(1_500)
  await idle()
  assert.equal(table.rows.get('runs'), undefined)
  gate.resolve()
  await eventually('both are out', async () => (await second.messages(output)).length === 2)
  assert.deepEqual(
    (await second.messages(output)).map(({ value }) => value),
    ['left', 'new'],
  )
  assert.equal(table.rows.get('runs'), 'x')
})

const name = (partition: number): string => JSON.stringify(['timing', 'input', partition])

test('what cannot go together with a schedule is refused at definition', () => {
  const uses = { db: memoryTable }
  const schedule = { run() {} }
  const cases: readonly [object, RegExp][] = [
    [{ schedule }, /schedule: expected uses/],
    [{ schedule: 'often', uses }, /schedule: expected \{ every/],
    [{ schedule: { every: '1s' }, uses }, /schedule.run: expected a function/],
    [{ schedule: { every: '1ms', run() {} }, uses }, /every: expected a duration/],
    [{ schedule: { evry: '1s', run() {} }, uses }, /evry: unknown option; did you mean every/],
    [{ schedule, uses, fencing: false, idempotency: 'natural' }, /fencing: expected true with/],
  ]
  for (const [definition, expected] of cases)
    assert.throws(
      () => defineService('wrong', { inputs: [input], handle() {}, ...definition } as never),
      expected,
    )
})
