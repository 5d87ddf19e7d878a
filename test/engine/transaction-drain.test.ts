import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineService, text, topic } from '../../src/index.ts'
import { eventually, testRuntime, within } from '../../src/testing/index.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 1 } })
const output = topic('output', { key: text, value: text })

test('a partition that is given up does not wait for what finished behind a message that is not begun any more', async () => {
  const handled: string[] = []
  let letGo = (): void => {}
  const service = defineService('copy', {
    inputs: [input],
    outputs: [output],
    publish: 'transaction',
    async handle({ key, value }) {
      if (value === 'a1') await new Promise<void>((resolve) => (letGo = resolve))
      handled.push(value)
      return output.message({ key, value })
    },
  })
  const runtime = await testRuntime(service)
  const values = ['a1', 'b1', 'a2', 'b2']
  await runtime.send(...values.map((value) => input.message({ key: value[0] ?? '', value })))
  await eventually('all that can is handled', () => handled.length === 2)
  const stopped = runtime.stop()
  letGo()
  // The clock stands still: no time limit would end it.
  assert.equal((await within('it stops', stopped, 5_000)).abandoned, 0)
  // The transaction ends at a2, which waited for its key's turn and was forgotten.
  assert.deepEqual(handled, ['b1', 'b2', 'a1'])
})
