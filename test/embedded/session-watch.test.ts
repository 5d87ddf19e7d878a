import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SessionWatch } from '../../src/embedded/session-watch.ts'

const session = (id: string, beats: number) => ({ id, beats, pid: 1, host: 'h' })
const ids = (sessions: readonly { id: string }[]): string[] => sessions.map(({ id }) => id)

describe('the watch over sessions', () => {
  it('finds a session whose beat stands still for the timeout, and not one that beats', () => {
    const watch = new SessionWatch(100, 10)
    for (let look = 0; look <= 9; look += 1) {
      assert.deepEqual(ids(watch.look([session('still', 1), session('alive', look)], 10)), [])
    }
    assert.deepEqual(ids(watch.look([session('still', 1), session('alive', 10)], 10)), ['still'])
  })

  it('starts to count at the first sight, and anew with each beat', () => {
    const watch = new SessionWatch(20, 10)
    assert.deepEqual(watch.look([session('a', 1)], 10), [])
    assert.deepEqual(watch.look([session('a', 1)], 10), [])
    assert.deepEqual(watch.look([session('a', 2)], 10), [])
    assert.deepEqual(watch.look([session('a', 2)], 10), [])
    assert.deepEqual(ids(watch.look([session('a', 2)], 10)), ['a'])
  })

  it('throws nobody out for the time in which the watcher itself slept', () => {
    const watch = new SessionWatch(5_000, 500)
    assert.deepEqual(watch.look([session('a', 7)], 500), [])
    assert.deepEqual(watch.look([session('a', 7)], 3_600_000), [])
    assert.deepEqual(watch.look([session('a', 8)], 500), [])
  })
})
