import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { shopPool } from '../../examples/bookshop/legacy-shop.ts'
import { Sales, sellBooks } from '../../examples/bookshop/orders.ts'
import { readiness } from '../../examples/bookshop/readiness.ts'
import { feelMoods, sortByLanguage } from '../../examples/bookshop/reviews.ts'
import * as services from '../../examples/bookshop/services.ts'
import { feedShop } from '../../examples/bookshop/shop-prices.ts'
import {
  covers,
  invoices,
  moods,
  orders,
  otherReviews,
  prices,
  readyForPrint,
  reprints,
  reviews,
  texts,
} from '../../examples/bookshop/topics.ts'
import { ModelProcess } from '../../scripts/demo/model-process.ts'
import { pgliteStore } from '../../src/embedded/index.ts'
import { postgresTable } from '../../src/postgres/index.ts'
import { eventually, testRuntime } from '../../src/testing/index.ts'

const emma = '9781000000016'
let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pollux-bookshop-'))
})
after(() => rm(folder, { recursive: true, force: true }))

test('a book is ready for print once its text is ready, its cover approved and its price set', async () => {
  await using runtime = await testRuntime(readiness, { store: pgliteStore() })
  const price = prices.message({
    key: emma,
    value: { amount: '9.90', currency: 'EUR', revision: 1 },
  })
  const cover = (approved: boolean) =>
    covers.message({ key: emma, value: { artist: 'Ann', approved } })
  await runtime.send(
    price,
    cover(false),
    texts.message({ key: emma, value: { title: 'Emma', pages: 1 } }),
  )
  await runtime.settled()
  assert.deepEqual(await runtime.messages(readyForPrint), [], 'a draft of a cover is no approval')
  await runtime.send(cover(true), cover(true), price)
  await runtime.settled()
  assert.deepEqual(
    (await runtime.messages(readyForPrint)).map(({ key, value }) => [key, value]),
    [[emma, { title: 'Emma' }]],
  )
})

test('the old shop finds the newest price in its own table, and its other columns as it left them', async () => {
  const pool = shopPool(join(folder, 'shop'))
  const text = 'select descr, unit_price, curr, shelf from legacy.item_master where item_no = $1'
  const read = async (): Promise<unknown> => (await pool.query(text, [emma])).rows
  const row = { descr: 'Emma', curr: 'EUR', shelf: 'A-03' }
  assert.deepEqual(await read(), [{ ...row, unit_price: null }])
  {
    await using runtime = await testRuntime(
      feedShop(postgresTable({ table: 'legacy.item_master', pool })),
    )
    for (const [amount, revision] of [
      ['9.90', 1],
      ['11.50', 3],
      ['10.70', 2],
    ] as const)
      await runtime.send(
        prices.message({ key: emma, value: { amount, currency: 'EUR', revision } }),
      )
    await runtime.settled()
  }
  assert.deepEqual(await read(), [{ ...row, unit_price: '11.50' }])
  await pool.close()
})

test('an order that is sent again is counted, invoiced and printed for once', async () => {
  await using runtime = await testRuntime(sellBooks)
  const order = (id: string, copies: number) =>
    orders.message({ key: emma, value: { customer: 'web', copies, cents: 100 }, headers: { id } })
  await runtime.send(order('o1', 60), order('o2', 50), order('o1', 60), order('o2', 50))
  await runtime.settled()
  assert.deepEqual(await runtime.state(sellBooks, emma), Sales.parse({ orders: 2, copies: 110 }))
  assert.deepEqual(
    (await runtime.messages(invoices)).map(({ key, value }) => [key, value.cents]).toSorted(),
    [
      ['o1', 6_000],
      ['o2', 5_000],
    ],
  )
  assert.deepEqual(
    (await runtime.messages(reprints)).map(({ value }) => value),
    [{ sold: 110 }],
  )
})

test('reviews in English get their moods from a model that turns calls away and is killed, others go by', async () => {
  const model = new ModelProcess()
  try {
    await model.start()
    await using runtime = await testRuntime([sortByLanguage, feelMoods(model.url)])
    const cases = [
      ['en', 'I love this book, it is wonderful!', 1],
      ['en', 'Terrible. I hate it.', -1],
      ['en', 'A book.', 0],
      ['de', 'Ein Buch.', undefined],
    ] as const
    const all = Array.from({ length: 40 }, (_, index) => ({
      id: `r${index}`,
      ...(cases[index % cases.length] ?? cases[0]),
    }))
    await runtime.send(
      ...all.map(({ id, 0: language, 1: text }) =>
        reviews.message({ key: id, value: { book: emma, text }, headers: { language } }),
      ),
    )
    const english = all.filter(({ 2: mood }) => mood !== undefined)
    await eventually('all moods are there', async () => {
      await runtime.clock.advance(1_000)
      return (await runtime.messages(moods)).length === english.length
    })
    await runtime.settled()
    const felt = (await runtime.messages(moods)).map(({ key, value }) => [
      key,
      Math.sign(value.mood),
    ])
    assert.deepEqual(felt.toSorted(), english.map(({ id, 2: mood }) => [id, mood]).toSorted())
    assert.equal((await runtime.messages(otherReviews)).length, all.length - english.length)
    assert.equal(model.counts.kills, 1)
    assert.ok(model.counts.busy >= 2)
  } finally {
    model.close()
  }
})

test('the services that the command line runs are all of the bookshop', () => {
  assert.deepEqual(
    Object.values(services)
      .map(({ name }) => name)
      .toSorted(),
    [
      'big-moves',
      'book-readiness',
      'feel-moods',
      'price-moves',
      'sell-books',
      'shop-prices',
      'sort-by-language',
    ],
  )
})
