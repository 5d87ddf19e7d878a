import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capability } from '../src/capability.ts'
import type { CrashMoment } from '../src/crash-outcomes.ts'
import { type Explanation, explain, type Fence } from '../src/explain.ts'
import { defineService, text, topic } from '../src/index.ts'

const orders = topic('orders', { key: text, value: text })
const payments = topic('payments', { key: text, value: text })
const invoices = topic('invoices', { key: text, value: text })
const db = capability<object>('someTransaction')

const storeless = defineService('storeless', { inputs: [orders], outputs: [invoices], handle() {} })
const outbox = defineService('outbox', {
  inputs: [orders],
  outputs: [invoices],
  state: text,
  handle() {},
})
const direct = defineService('direct', {
  inputs: [orders],
  outputs: [invoices],
  state: text,
  publish: 'direct',
  handle() {},
})
const transaction = defineService('transaction', {
  inputs: [orders],
  outputs: [invoices],
  publish: 'transaction',
  handle() {},
})

/** Each moment, and whether the handler runs again after it. */
function crashes({ crashOutcomes }: Explanation): [CrashMoment, boolean][] {
  return crashOutcomes.map(({ moment, isHandledAgain }) => [moment, isHandledAgain])
}

test('a message without a store is handled again until its offset is committed', () => {
  assert.deepEqual(crashes(explain(storeless)), [
    ['polled', true],
    ['handled', true],
    ['published', true],
    ['acknowledged', true],
    ['committed', false],
  ])
})

test('with an outbox the store’s commit comes before the outputs, and nothing is handled again after it', () => {
  assert.deepEqual(crashes(explain(outbox)), [
    ['polled', true],
    ['handled', true],
    ['stored', false],
    ['published', false],
    ['acknowledged', false],
    ['committed', false],
  ])
})

test('published directly, outputs come before the store’s commit, and so are written again', () => {
  assert.deepEqual(crashes(explain(direct)), [
    ['polled', true],
    ['handled', true],
    ['published', true],
    ['acknowledged', true],
    ['stored', false],
    ['committed', false],
  ])
})

test('in a transaction, outputs and offset are there together or not at all', () => {
  const explanation = explain(transaction)
  assert.deepEqual(crashes(explanation), [
    ['polled', true],
    ['handled', true],
    ['published', true],
    ['acknowledged', true],
    ['committed', false],
  ])
  assert.match(explanation.guarantee, /^Exactly once/)
})

test('without outputs nothing is said of publishing', () => {
  const quiet = explain(defineService('quiet', { inputs: [orders], state: text, handle() {} }))
  assert.deepEqual(crashes(quiet), [
    ['polled', true],
    ['handled', true],
    ['stored', false],
    ['committed', false],
  ])
  assert.equal(quiet.publish.choice, 'none')
  const { crashOutcomes, notPromised, hints } = quiet
  assert.doesNotMatch(JSON.stringify([crashOutcomes, notPromised, hints]), /output|publish/i)
})

test('without the ledger a stored message comes again: passed over by its version, or harmless by word', () => {
  const versioned = defineService('versioned', {
    inputs: [orders],
    state: text,
    idempotency: { by: 'version', of: () => 1 },
    fencing: false,
    handle() {},
  })
  const natural = defineService('natural', {
    inputs: [orders],
    state: text,
    idempotency: 'natural',
    fencing: false,
    handle() {},
  })
  const after = (explanation: Explanation): boolean | undefined =>
    explanation.crashOutcomes.find(({ moment }) => moment === 'stored')?.isHandledAgain
  assert.deepEqual([after(explain(versioned)), after(explain(natural))], [false, true])
})

test('what keeps a process out that has lost its partition is named', () => {
  const unfenced = defineService('unfenced', {
    inputs: [orders],
    state: text,
    idempotency: 'natural',
    fencing: false,
    handle() {},
  })
  const fences = [storeless, outbox, direct, transaction, unfenced].map(
    (service): Fence => explain(service).fence.choice,
  )
  assert.deepEqual(fences, ['none', 'ledger', 'ledger', 'transaction', 'none'])
})

test('where work starts when somebody else has set the offset is said, and what following costs', () => {
  const following = defineService('following', {
    inputs: [orders],
    state: text,
    outsideReset: 'follow',
    handle() {},
  })
  const told = [outbox, storeless, following].map((service) => explain(service))
  assert.deepEqual(
    told.map(({ outsideReset }) => outsideReset.choice),
    ['stop', 'follow', 'follow'],
  )
  assert.match(told[1]?.outsideReset.meaning ?? '', /group’s offset, whoever has set it/)
  assert.deepEqual(
    told.map(({ notPromised }) => notPromised.some((text) => /was set back/.test(text))),
    [false, false, true],
  )
})

test('idempotency by word repeats the word, wherever it is spoken of', () => {
  const { guarantee, idempotency, notPromised } = explain(
    defineService('natural', { inputs: [orders], idempotency: 'natural', handle() {} }),
  )
  assert.match(idempotency.meaning, /^Your word: repeating is harmless\./)
  assert.match(guarantee, /harmless by your word/)
  assert.match(notPromised.join('\n'), /is your word/)
})

test('events are explained with their window, where their ids come from, and what they do not cover', () => {
  const { guarantee, idempotency, notPromised, hints } = explain(
    defineService('events', {
      inputs: [orders, payments],
      idempotency: { by: 'event-id', window: '3d' },
      handle() {},
    }),
  )
  assert.match(guarantee, /within 3d/)
  assert.match(idempotency.meaning, /header id, else CloudEvents/)
  assert.match(notPromised.join('\n'), /more than 3d after the first/)
  assert.match(notPromised.join('\n'), /An id counts within its topic/)
  assert.match(hints.join('\n'), /writes to orders, payments has to set the header id/)
})

test('ids of a function’s own need no header', () => {
  const { idempotency, hints } = explain(
    defineService('own-ids', {
      inputs: [orders],
      idempotency: { by: 'event-id', id: ({ value }) => value },
      handle() {},
    }),
  )
  assert.match(idempotency.meaning, /what idempotency\.id gives/)
  assert.doesNotMatch(hints.join('\n'), /header id\./)
})

test('a topic declared to keep records for longer than the window is named', () => {
  const kept = (retention: string): string => {
    const create = { config: { 'retention.ms': retention } }
    const input = topic('kept', { value: text, create })
    const idempotency = { by: 'event-id', window: '1d' } as const
    return explain(
      defineService('window', { inputs: [input], idempotency, handle() {} }),
    ).hints.join('\n')
  }
  for (const longer of ['86400001', '-1'])
    assert.match(kept(longer), /kept keeps records for longer than the window of 1d/)
  assert.match(kept('86400000'), /should not keep records for longer than the window of 1d/)
})

test('where state lives is said of everything that the service keeps', () => {
  const everything = explain(
    defineService('everything', {
      inputs: [orders],
      outputs: [invoices],
      state: text,
      uses: { db },
      idempotency: { by: 'event-id' },
      handle() {},
    }),
  )
  for (const part of [
    'a value for each key (text)',
    'tables of their own',
    'a mark for each event',
    'outputs until',
    'position in each partition',
  ])
    assert.ok(everything.state.meaning.includes(part), part)
  assert.match(everything.order.meaning, /one after the other, as they share a transaction/)
  assert.equal(explain(storeless).state.choice, 'none')
})

test('an explanation is plain data', () => {
  const explanation = explain(outbox)
  assert.deepEqual(JSON.parse(JSON.stringify(explanation)), explanation)
})

test('how many messages a call is given, and how many calls run at once, is told for batches', () => {
  const many = { inputs: [orders], batch: 20, handleMany() {} } as const
  assert.match(
    explain(defineService('many', many)).order.meaning,
    /up to 20 messages.* Up to 2 calls run at once in a process, with messages of different partitions/,
  )
  assert.match(
    explain(defineService('many-own', { ...many, uses: { db } })).order.meaning,
    /up to 20 messages.* Each has a transaction, one after the other/,
  )
})

test('what a service does by time is told, and who does it', () => {
  const service = { inputs: [orders, payments], uses: { db }, handle() {} } as const
  assert.equal(explain(defineService('no-schedule', service)).schedule, null)
  const { schedule } = explain(
    defineService('schedule', { ...service, schedule: { every: '5m', run() {} } }),
  )
  assert.equal(schedule?.choice, 'every 5m')
  assert.match(schedule.meaning, /the owner of orders\/0/)
})
