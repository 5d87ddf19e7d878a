import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type pg from 'pg'
import type { HandlerContext, Message } from '../../src/index.ts'
import type { Row } from '../../src/patterns/gate/row.ts'
import { arrive, deadline, type Rules } from '../../src/patterns/gate/rules.ts'
import type { GateDatabase } from '../../src/patterns/gate/table.ts'
import { GateTable } from '../../src/patterns/gate/table.ts'
import { GateWork } from '../../src/patterns/gate/work.ts'
import { silent } from '../../src/ports/logger.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { ask, freshName, newClient } from '../postgres/server.ts'
import { books, booksFacts } from './gate-books.ts'

const schema = freshName()
let client: pg.Client

before(async () => {
  await ask(`create schema ${schema}`)
  client = await newClient()
})
after(async () => {
  await client.end()
  await ask(`drop schema ${schema} cascade`)
})

const topics = ['text-ready', 'cover-approved', 'price-set', 'rights-cleared'] as const

/** One fact of a key; the time goes on before it by so many milliseconds. */
interface Step {
  readonly key: string
  readonly fact: number
  readonly value: number
  readonly isNextBatch: boolean
  readonly pause: number
}

const steps = fc.array(
  fc.record<Step>({
    key: fc.constantFrom('a', 'b'),
    fact: fc.nat(3),
    value: fc.nat(1),
    isNextBatch: fc.boolean(),
    pause: fc.constantFrom(0, 0, 0, 400),
  }),
  { maxLength: 24 },
)

const lates: readonly Rules['late'][] = [
  'ignore',
  'reopen',
  (key, late) => books.message({ key, value: JSON.stringify(late) }),
]

test('a gate does with batches what its rules do with one fact after the other, whatever comes', async () => {
  let number = 0
  const table = new GateTable(
    `${schema}.gates`,
    Object.entries(booksFacts).map(([name, { keep }]) => ({ name, isKept: keep !== undefined })),
  )
  const property = fc.asyncProperty(steps, fc.constantFrom(...lates), async (drawn, late) => {
    number += 1
    const given = drawn.map((step) => ({ ...step, key: `${step.key}${number}` }))
    const rules = rulesOf(late)
    const clock = new ManualClock()
    const work = new GateWork(rules, table, undefined, undefined, undefined)
    const [found, expected] = [new Told(), new Told()]
    const rows = new Map<string, Row>()
    for (const batch of batchesOf(given)) {
      await clock.advance(batch[0]?.pause ?? 0)
      for (const result of await work.takeIn(batch.map(messageOf), contextOf(clock, found)))
        found.add(result.outputs, result.error)
      for (const step of batch) {
        const row = rows.get(step.key) ?? newRow(step.key, deadline(rules, clock.now()))
        rows.set(step.key, row)
        const arrival = { index: step.fact, kept: keptOf(step) }
        const moment = { now: clock.now(), count: expected.count }
        expected.add(await arrive(rules, row, arrival, moment), undefined)
      }
    }
    assert.deepEqual([found.outputs, found.counts], [expected.outputs, expected.counts])
  })
  await fc.assert(property, { numRuns: 150 })
})

function rulesOf(late: Rules['late']): Rules {
  const told =
    (what: string) =>
    (key: string, ...more: readonly unknown[]) =>
      books.message({ key, value: `${what} ${JSON.stringify(more)}` })
  return { facts: booksFacts, late, open: told('open'), expire: told('expire'), timeout: 1_000 }
}

/** What messages came to, and what was counted. */
class Told {
  readonly outputs: unknown[][] = []
  readonly counts: Record<string, number> = {}
  readonly count = (name: string, by = 1): void => {
    this.counts[name] = (this.counts[name] ?? 0) + by
  }

  add(outputs: unknown, error: unknown): void {
    assert.equal(error, undefined)
    const list = outputs as readonly { readonly fields: { readonly value: unknown } }[]
    this.outputs.push(list.map(({ fields }) => fields.value))
  }
}

function batchesOf(given: readonly Step[]): Step[][] {
  const batches: Step[][] = []
  for (const step of given) {
    if (step.isNextBatch || batches.length === 0) batches.push([])
    batches.at(-1)?.push(step)
  }
  return batches
}

function keptOf({ fact, value }: Step): unknown {
  return [undefined, undefined, value, { until: `${value}` }][fact]
}

function messageOf({ key, fact, value }: Step): Message {
  return { topic: topics[fact], key, value: fact === 3 ? `${value}` : value } as unknown as Message
}

function newRow(key: string, expiresAt: number | null): Row {
  const nothing = { openedAt: null, expiredAt: null, hasChanged: false }
  return { key, came: [null, null, null, null], kept: [], expiresAt, ...nothing }
}

function contextOf(clock: ManualClock, { count }: Told): HandlerContext & { db: GateDatabase } {
  const query = async <R extends object>(sql: string, params: readonly unknown[] = []) =>
    (await client.query<R>(sql, [...params])).rows
  const { signal } = new AbortController()
  return {
    log: silent,
    clock,
    count,
    gauge() {},
    waiting: () => () => {},
    signal,
    stopping: signal,
    db: { query },
  }
}
