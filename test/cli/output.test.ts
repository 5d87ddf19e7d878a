import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { Output } from '../../src/cli/output.ts'

/** A stream whose writes end as `end` says. */
function output(
  end: (chunk: string, done: (error?: Error) => void) => void,
  highWaterMark = 4,
): Output {
  const stream = new Writable({
    highWaterMark,
    write: (chunk, _, done) => end(String(chunk), done),
  })
  return new Output(stream as unknown as NodeJS.WriteStream)
}

function fault(code: string): Error {
  return Object.assign(new Error(`write ${code}`), { code })
}

test('A slow reader holds the writer up', async () => {
  const waiting: (() => void)[] = []
  const slow = output((_, done) => waiting.push(done))
  let isWritten = false
  const writing = slow.write('more than four').then(() => {
    isWritten = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isWritten, false)
  waiting.forEach((done) => done())
  await writing
})

test('A reader that left is no error: the signal is aborted and writing does nothing more', async () => {
  const chunks: string[] = []
  const gone = output((chunk, done) => {
    chunks.push(chunk)
    done(fault('EPIPE'))
  })
  await gone.write('one line')
  assert.equal(gone.gone.aborted, true)
  await gone.write('another')
  await gone.flush()
  assert.deepEqual(chunks, ['one line'])
})

test('Another failure is told, by the flush when it came with the last write', async () => {
  const full = output((_, done) => setImmediate(() => done(fault('ENOSPC'))), 1_000)
  await full.write('x')
  await assert.rejects(full.flush(), { code: 'POLLUX_FILE_INVALID', message: /ENOSPC/ })
  await assert.rejects(full.write('y'), { code: 'POLLUX_FILE_INVALID' })
})
