import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startPosition } from '../../src/embedded/start-position.ts'

const range = { topic: 't', partition: 0, earliest: 1_000, latest: 1_500 }

describe('where a group goes on', () => {
  it('is its committed position, both ends of the log included', () => {
    for (const committed of [1_000, 1_200, 1_500]) {
      assert.deepEqual(startPosition(committed, range, 'latest'), {
        start: committed,
        warning: undefined,
      })
    }
  })

  it('is the end that the service chose when nothing was committed', () => {
    assert.deepEqual(startPosition(undefined, range, 'earliest'), {
      start: 1_000,
      warning: undefined,
    })
    assert.deepEqual(startPosition(undefined, range, 'latest'), {
      start: 1_500,
      warning: undefined,
    })
  })

  it('case 67: is that end, with a count of what was missed, when the position was removed', () => {
    const { start, warning } = startPosition(400, range, 'earliest')
    assert.equal(start, 1_000)
    assert.match(warning ?? '', /^600 records of t\/0 were missed/)
    const latest = startPosition(400, range, 'latest')
    assert.equal(latest.start, 1_500)
    assert.match(latest.warning ?? '', /^1100 records/)
  })

  it('is that end when the position lies behind the log, as after the log was made anew', () => {
    const { start, warning } = startPosition(9_000, range, 'earliest')
    assert.equal(start, 1_000)
    assert.match(warning ?? '', /9000 of t\/0 lies behind the log's end 1500/)
  })
})
