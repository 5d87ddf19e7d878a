import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  alerts,
  bigMoves,
  highs,
  marketPrices,
  moves,
  priceMoves,
} from '../../examples/bookshop/almanac.ts'
import { expectedResults } from '../../scripts/demo/almanac/expected-results.ts'
import { readPriceFiles, symbolsOf } from '../../scripts/demo/almanac/price-files.ts'
import type { OutputMessage } from '../../src/index.ts'
import { testRuntime } from '../../src/testing/index.ts'

const price = (symbol: string, date: string, amount: number): OutputMessage =>
  marketPrices.message({ key: symbol, value: { date, price: amount } })

const valuesOf = (messages: readonly { readonly key: string; readonly value: unknown }[]) =>
  messages.map(({ key, value }) => [key, value])

test('a price is compared with the one before it of the same symbol', async () => {
  await using runtime = await testRuntime([priceMoves, bigMoves])
  await runtime.send(
    price('A', '2020-01-01', 100),
    price('B', '2020-01-01', 8),
    price('A', '2020-01-02', 104),
    price('A', '2020-01-03', 78),
    price('B', '2020-01-02', 8),
  )
  await runtime.settled()
  const found = valuesOf(await runtime.messages(moves))
  assert.equal(found.length, 3)
  const [first, second, third] = [
    { date: '2020-01-01', price: 100 },
    { date: '2020-01-02', price: 104 },
    { date: '2020-01-03', price: 78 },
  ]
  assert.deepEqual(
    found.filter(([key]) => key === 'A'),
    [
      ['A', { from: first, to: second, percent: 4 }],
      ['A', { from: second, to: third, percent: -25 }],
    ],
  )
  assert.deepEqual(await runtime.state(priceMoves, 'A'), {
    count: 3,
    first,
    last: third,
    high: second,
    low: third,
    biggestRise: { from: first, to: second, percent: 4 },
    biggestFall: { from: second, to: third, percent: -25 },
  })
})

test('a high is told only when a price is above all before it', async () => {
  await using runtime = await testRuntime(priceMoves)
  await runtime.send(
    ...[10, 12, 11, 12, 13].map((amount, index) => price('A', `2020-01-0${index + 1}`, amount)),
  )
  await runtime.settled()
  assert.deepEqual(valuesOf(await runtime.messages(highs)), [
    ['A', { date: '2020-01-02', price: 12, before: 10 }],
    ['A', { date: '2020-01-05', price: 13, before: 12 }],
  ])
})

test('moves of ten percent and more, up or down, become alerts', async () => {
  await using runtime = await testRuntime([priceMoves, bigMoves])
  await runtime.send(
    ...[100, 109.99, 121, 108.9, 99].map((amount, index) =>
      price('A', `2020-01-0${index + 1}`, amount),
    ),
  )
  await runtime.settled()
  assert.deepEqual(
    valuesOf(await runtime.messages(alerts)),
    [
      ['A', { date: '2020-01-03', percent: 10.01, text: 'A rose by 10.01 %, from 109.99 to 121' }],
      ['A', { date: '2020-01-04', percent: -10, text: 'A fell by 10 %, from 121 to 108.9' }],
    ],
    'a fall by 9.09 % is none',
  )
})

test('the straight computation that --check compares with knows the files', () => {
  const rows = readPriceFiles()
  assert.equal(rows.length, 5_665)
  assert.deepEqual(symbolsOf(rows), ['AAPL', 'AMZN', 'GOOG', 'IBM', 'MSFT', 'SP500'])
  const { summaries, outputs } = expectedResults(rows)
  assert.deepEqual(summaries.get('SP500')?.high, { date: '2020-02-19', price: 3386.149902 })
  assert.equal(summaries.get('SP500')?.biggestFall?.percent, -11.98)
  assert.equal(summaries.get('MSFT')?.count, 123)
  assert.deepEqual(
    outputs.map(({ name }) => name),
    ['almanac.moves', 'almanac.highs', 'almanac.alerts'],
  )
})
