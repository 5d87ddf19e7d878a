import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type PartResult, reportAll } from '../../scripts/test/report.ts'

const file = { passed: 3, failures: [], skips: [], output: '', seconds: 1 }
const ran: PartResult = {
  name: 'unit',
  files: [
    { ...file, file: 'a.test.ts' },
    { ...file, file: 'b.test.ts', skips: ['c: no disk'] },
  ],
  leftOut: undefined,
}
const leftOut: PartResult = { name: 'kafka', files: [], leftOut: 'no Kafka: no Java' }

function printed(t: TestContext, results: PartResult[], isStrict: boolean): string[] {
  const lines: string[] = []
  t.mock.method(console, 'log', (text: string) => lines.push(...text.split('\n')))
  reportAll(results, isStrict)
  return lines
}

test('the last line holds the sums alone', (t) => {
  assert.equal(
    printed(t, [{ ...ran, files: ran.files.slice(0, 1) }], true).at(-1),
    '3 passed, 0 failed',
  )
  assert.equal(printed(t, [ran, leftOut], false).at(-1), '6 passed, 0 failed, 1 skipped')
})

test('a part left out is in the table with its reason', (t) => {
  const row = printed(t, [ran, leftOut], false).find((line) => line.startsWith('kafka'))
  assert.match(row ?? '', /^kafka \| left out +\| no Kafka: no Java$/)
})

test('a part left out is a failure where everything is required', (t) => {
  assert.equal(printed(t, [ran, leftOut], true).at(-1), '6 passed, 1 failed, 1 skipped')
})
