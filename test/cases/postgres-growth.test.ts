import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { encodeRecord } from '../../src/engine/outputs.ts'
import { defineService, text, topic } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { Cluster } from './lives/cluster.ts'

const schema = freshName()
const newStore = () => postgres({ connectionString: address(), schema })

before(() => ask(`create schema ${schema}`))
after(() => ask(`drop schema ${schema} cascade`))

const input = topic('input', { key: text, value: text, create: { partitions: 1 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

const handled: string[] = []
const service = defineService('remembering', {
  inputs: [input],
  idempotency: { by: 'event-id', window: '7d' },
  state: text,
  async handle({ key, value }, { state }) {
    handled.push(value)
    await state.put(`${key} ${value}`)
  },
})

const million = 1_000_000

/** Marks of events as they were applied some days ago, in the log up to an offset. */
async function addMarks(prefix: string, count: number, age: string, offset: number): Promise<void> {
  await ask(
    `insert into ${schema}.pollux_inbox (id, service, topic, partition, "offset", applied_at)
    select convert_to($1 || n, 'UTF8'), 'remembering', 'input', 0, $2, now() - $3::interval
    from generate_series(1, $4::int) as n`,
    [prefix, offset, age, count],
  )
}

async function countMarks(where: string): Promise<number> {
  const [row] = await ask(
    `select count(*)::int as count from ${schema}.pollux_inbox where ${where}`,
  )
  return Number(row?.['count'])
}

const old = `applied_at < now() - interval '7 days' and "offset" = 0`

const event = (id: string) => input.message({ key: id, value: id, headers: { id } })

test('case 28: a million marks are forgotten after their window while messages flow, and none of those that count', async () => {
  using cluster = new Cluster(newStore)
  await cluster.createTopics(input)
  const runtime = await cluster.start(service)
  await cluster.send(event('first'), event('second'))
  await cluster.until('the ledger has a position', () => cluster.isSettled(service))
  await addMarks('old ', million, '8 days', 0)
  await addMarks('week ', 1_000, '6 days', 0)
  // Settled above a message that is not: what is in front of it may come again with the whole partition.
  await addMarks('above ', 1_000, '8 days', 1_000_000)

  // Marks are looked through once an hour.
  await cluster.clock.advance(60 * 60_000)
  let sent = 0
  let largest = 0
  let left = await countMarks(old)
  assert.equal(left, million)
  while (left > 0) {
    for (const end = sent + 5; sent < end; sent += 1) {
      await cluster.send(event(`new ${sent}`))
      await cluster.until('it is handled, whatever is being forgotten', () =>
        handled.includes(`new ${sent}`),
      )
    }
    const now = await countMarks(old)
    largest = Math.max(largest, left - now)
    left = now
  }
  assert.ok(sent > 20, `${sent} messages were handled meanwhile`)
  assert.ok(largest < million / 4, `it went by slices, at most ${largest} between two looks`)
  await cluster.until('all is settled', () => cluster.isSettled(service))
  assert.equal(await countMarks('true'), 2 + sent + 1_000 + 1_000, 'all others are there')

  // A producer repeats itself: 6 days late, and 8 days late.
  const { duplicates } = runtime.counts[0] ?? { duplicates: Number.NaN }
  await cluster.send(event('week 7'), event('old 7'), event('above 7'), event('old 7'))
  await cluster.until('all is settled', () => cluster.isSettled(service))
  assert.deepEqual(handled.slice(2 + sent), ['old 7'], 'outside the window it is a new one, once')
  assert.equal(runtime.counts[0]?.duplicates, duplicates + 3)
})

test('case 28: outputs that are stored and not published are never deleted, however old they are', async () => {
  const store = newStore()
  await store.open()
  const place = { topic: 'input', partition: 0, topicId: 'id' }
  const [row] = await store.acquire('keeping', [place])
  assert.ok(row)
  const outputs = [encodeRecord(output.message({ key: 'k', value: 'unsent' }))]
  const mark = { topic: 'input', partition: 0, offset: 0, id: Buffer.from('e1') }
  const change = { ...row, next: 1, outputs, acknowledged: undefined }
  await store.commit({ service: 'keeping', marks: [mark], states: [], ledger: [change] })
  await ask(`update ${schema}.pollux_outbox set stored_at = now() - interval '30 days'`)
  await ask(`update ${schema}.pollux_inbox set applied_at = now() - interval '30 days'`)
  while (await store.forget('keeping', 7 * 24 * 60 * 60_000));
  assert.deepEqual((await store.load('keeping', [], [mark])).applied, [false])
  const [again] = await store.acquire('keeping', [place])
  assert.equal(String(again?.unpublished[0]?.records[0]?.value), 'unsent')
  await store.close()
})
