import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { Progress } from '../../../src/cli/produce/progress.ts'

function progress(
  isTTY: boolean,
  total: number | undefined,
  columns = 80,
): { shown: string[]; tell(ms: number, records: number, bytes: number): void; end(): void } {
  const shown: string[] = []
  let now = 0
  const stream = { isTTY, columns, write: (text: string) => shown.push(text) > 0 }
  const made = new Progress({ total, stream: stream as never, now: () => now })
  return {
    shown,
    tell(ms, records, bytes) {
      now = ms
      made.update(records, bytes)
    },
    end: () => made.end(),
  }
}

test('On a terminal a bar moves within one line and is gone at the end', () => {
  const { shown, tell, end } = progress(true, 1_000)
  tell(500, 100, 500)
  tell(550, 110, 550)
  tell(1_000, 200, 1_000)
  end()
  assert.equal(shown.length, 3)
  assert.match(
    stripVTControlCharacters(shown[0] ?? ''),
    /^\r█{12}░{12} {2}50 % 100 records, 200\/s$/,
  )
  assert.match(stripVTControlCharacters(shown[1] ?? ''), /100 % 200 records/)
  assert.equal(shown[2], '\r\u001b[K')
})

test('Elsewhere a plain line comes every ten seconds, without control characters', () => {
  const { shown, tell, end } = progress(false, undefined)
  tell(9_000, 90, 1)
  tell(10_000, 1_000, 2)
  end()
  assert.deepEqual(shown, ['1,000 records, 100/s\n'])
})

test('A narrow terminal gets no bar, and no line that wraps', () => {
  const { shown, tell } = progress(true, 1_000, 20)
  tell(500, 100_000, 500)
  assert.deepEqual(shown, ['\r\u001b[K 50 % 100,000 recor'])
})
