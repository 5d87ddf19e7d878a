import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import type { Service } from '../../src/index.ts'
import type { GroupListener } from '../../src/ports/broker.ts'
import { brokerOver } from '../../src/testing/broker-over.ts'
import { eventually, testRuntime } from '../../src/testing/index.ts'
import { idle, place, scheduled } from './scheduled.ts'

test('of two members one runs it, and when that one leaves the other one takes over', async () => {
  const { clock, table, store } = place()
  const memory = sharedMemory()
  const who: string[] = []
  const member = (owner: string): Service =>
    scheduled(({ db }) => {
      who.push(owner)
      db.write('runs', `${table.rows.get('runs') ?? ''}${owner}`)
    })
  const first = await testRuntime(member('a'), {
    broker: embeddedBroker({ memory }),
    store: store(),
    clock,
  })
  await eventually('the first run', () => who.length === 1)
  await using _ = await testRuntime(member('b'), {
    broker: embeddedBroker({ memory }),
    store: store(),
    clock,
  })
  await idle()
  await clock.advance(1_000)
  await eventually('the second run', () => who.length >= 2)
  const owner = who.at(-1)
  const before = who.length
  await first.stop()
  await eventually('the other one runs it', async () => {
    await clock.advance(1_000)
    return who.length > before && who.at(-1) === 'b'
  })
  assert.ok(owner !== undefined)
  assert.equal(table.rows.get('runs'), who.join(''), 'each run has its effect once')
})

test('a partition is given up once the run at work is committed, and no other begins', async () => {
  const { clock, table, store } = place()
  const broker = embeddedBroker()
  let listener: GroupListener | undefined
  const watched = brokerOver(broker, {
    join(subscription, given) {
      listener = given
      return broker.join(subscription, given)
    },
  })
  let runs = 0
  let release = (): void => {}
  const service = scheduled(async ({ db, again }) => {
    runs += 1
    again()
    await new Promise<void>((resolve) => (release = resolve))
    db.write('runs', `${runs}`)
  })
  await using _ = await testRuntime(service, { broker: watched, store: store(), clock })
  await eventually('a run', () => runs === 1)
  let isGivenUp = false
  const revoked = listener?.revoked([{ topic: 'input', partition: 0 }]).then(() => {
    isGivenUp = true
  })
  await clock.advance(1_000)
  await idle()
  assert.equal(isGivenUp, false)
  release()
  await revoked
  assert.equal(table.rows.get('runs'), '1')
  await clock.advance(5_000)
  await idle()
  assert.equal(runs, 1)
})

test('no run begins after a stop was asked for, and the one at work is finished', async () => {
  const { clock, table, store } = place()
  let runs = 0
  let release = (): void => {}
  const service = scheduled(async ({ db, again }) => {
    runs += 1
    again()
    await new Promise<void>((resolve) => (release = resolve))
    db.write('runs', `${runs}`)
  })
  const runtime = await testRuntime(service, { store: store(), clock })
  await eventually('a run', () => runs === 1)
  const stopped = runtime.stop()
  await idle()
  release()
  assert.deepEqual(await stopped, { outcome: 'drained', abandoned: 0 })
  assert.equal(table.rows.get('runs'), '1')
  assert.equal(runs, 1)
})

test('a run that does not end in time is told to give up, and has written nothing', async () => {
  const { clock, table, store } = place()
  let runs = 0
  const service = scheduled(async ({ db, signal }) => {
    runs += 1
    db.write('runs', 'x')
    await new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(new Error('told to'))),
    )
  })
  const runtime = await testRuntime(service, { store: store(), clock, drainTimeout: '2s' })
  await eventually('a run', () => runs === 1)
  const stopped = runtime.stop()
  await idle()
  await clock.advance(2_000)
  await stopped
  assert.equal(table.rows.get('runs'), undefined)
})
