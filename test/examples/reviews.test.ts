import assert from 'node:assert/strict'
import { test } from 'node:test'
import { others, reviews, sortByLanguage } from '../../examples/reviews/services.ts'
import { CrashProcess, testRuntime } from '../../src/testing/index.ts'

test('the reviews that the example sends get their moods, although the model turns calls away', async () => {
  const main = new CrashProcess(new URL('../../examples/reviews/main.ts', import.meta.url))
  assert.equal(await main.ended(), 0, main.errors)
  assert.deepEqual(main.lines.toSorted(), ['r0 lamp good', 'r1 lamp bad', 'r3 lamp neither'])
})

test('a review in another language goes to the others', async () => {
  await using runtime = await testRuntime(sortByLanguage)
  const value = { item: 'lamp', text: 'Eine Lampe.' }
  await runtime.send(reviews.message({ key: 'r', value, headers: { language: 'de' } }))
  await runtime.settled()
  assert.deepEqual(
    (await runtime.messages(others)).map((message) => message.value),
    [value],
  )
})
