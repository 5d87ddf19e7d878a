import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PolluxError } from '../../../src/index.ts'
import { ContentCache } from '../../../src/patterns/delegate/content-cache.ts'
import { timed } from '../../../src/patterns/delegate/timed.ts'
import { ManualClock } from '../../../src/testing/index.ts'

test('the cache keeps what was used last, each for its lifetime, results that are undefined included', async () => {
  const clock = new ManualClock()
  const cache = new ContentCache<number | undefined>({ entries: 2, lifetime: 100 }, clock)
  cache.set('a', 1)
  cache.set('b', undefined)
  assert.equal(cache.get('a')?.result, 1)
  cache.set(Buffer.from('c'), 3)
  assert.equal(cache.get('b'), undefined, 'unused for longest')
  assert.equal(cache.get('c')?.result, 3, 'text and bytes are the same content')
  cache.set('d', undefined)
  assert.ok(cache.get('d') !== undefined && cache.get('d')?.result === undefined)
  await clock.advance(100)
  assert.deepEqual(
    [cache.get('a'), cache.get('c'), cache.get('d')],
    [undefined, undefined, undefined],
  )
})

test('a call that does not obey its signal is left behind at its limit', async () => {
  const clock = new ManualClock()
  const outer = new AbortController()
  let seen: AbortSignal | undefined
  const call = timed({ clock, limit: 500, outer: outer.signal }, (signal) => {
    seen = signal
    return new Promise(() => {})
  })
  const failed = assert.rejects(call, (error) => PolluxError.is(error, 'POLLUX_CALL_TIMEOUT'))
  await clock.advance(499)
  assert.equal(seen?.aborted, false)
  await clock.advance(1)
  assert.equal(seen?.aborted, true)
  await failed
})

test('a call ends when its partition is lost, and is not even begun afterwards', async () => {
  const clock = new ManualClock()
  const outer = new AbortController()
  const options = { clock, limit: 500, outer: outer.signal }
  const failed = assert.rejects(
    timed(options, () => new Promise(() => {})),
    /lost/,
  )
  outer.abort(new Error('lost'))
  await failed
  await assert.rejects(
    timed(options, () => assert.fail('it was begun')),
    /lost/,
  )
})

test('a call that ends in time leaves nothing behind, whether it succeeds or fails', async () => {
  const clock = new ManualClock()
  const outer = new AbortController()
  const options = { clock, limit: 500, outer: outer.signal }
  let signal: AbortSignal | undefined
  assert.equal(await timed(options, (own) => ((signal = own), 5)), 5)
  await assert.rejects(
    timed(options, () => {
      throw new Error('at once')
    }),
    /at once/,
  )
  outer.abort()
  await clock.advance(1_000)
  assert.equal(signal?.aborted, false)
})
