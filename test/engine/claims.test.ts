import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Claim, Claims } from '../../src/engine/claims.ts'
import type { Work } from '../../src/engine/partition.ts'
import { partitionOf, workOf } from './works.ts'

/** Claims, who holds which, and what may go on. */
class Scene {
  readonly resumed: Work[] = []
  readonly #claims: Claims
  readonly #held = new Map<Work, Claim>()

  constructor(remembered = 10) {
    this.#claims = new Claims(remembered, (work) => this.resumed.push(work))
  }

  take(work: Work, id = 'event'): 'handle' | 'applied' | 'wait' {
    const taken = this.#claims.take(work, Buffer.from(id))
    if (typeof taken === 'string') return taken
    this.#held.set(work, taken)
    return 'handle'
  }

  release(work: Work, isCommitted: boolean, id = 'event'): void {
    const claim = this.#held.get(work)
    assert.ok(claim)
    this.#claims.release(work, Buffer.from(id), claim, isCommitted)
  }
}

/** Three messages, of a partition each. */
function messages(): [Work, Work, Work] {
  return [workOf(partitionOf(0), 0), workOf(partitionOf(1), 0), workOf(partitionOf(2), 0)]
}

test('R7: a copy of an event in work waits for what becomes of it, and is none any more once that is committed', () => {
  const scene = new Scene()
  const [first, second, third] = messages()
  assert.equal(scene.take(first), 'handle')
  assert.equal(scene.take(second), 'wait')
  assert.equal(scene.take(third), 'wait')
  assert.deepEqual(scene.resumed, [])
  scene.release(first, true)
  assert.deepEqual(scene.resumed, [second, third])
  assert.equal(scene.take(second), 'applied')
  assert.equal(scene.take(third), 'applied')
})

test('R7: when the one in work is dropped, one of the waiting copies takes its place and the others wait for that one', () => {
  const scene = new Scene()
  const [first, second, third] = messages()
  scene.take(first)
  scene.take(second)
  scene.take(third)
  scene.release(first, false)
  assert.deepEqual(scene.resumed, [second, third])
  assert.equal(scene.take(second), 'handle')
  assert.equal(scene.take(third), 'wait')
  scene.release(second, true)
  assert.equal(scene.take(third), 'applied')
})

test('an event stays claimed for as long as it is in work, however many others are committed meanwhile', () => {
  const scene = new Scene(3)
  const [first, second, third] = messages()
  scene.take(first)
  for (let index = 0; index < 20; index += 1) {
    assert.equal(scene.take(second, `${index}`), 'handle', 'events of other ids wait for nothing')
    scene.release(second, true, `${index}`)
    assert.equal(scene.take(third), 'wait')
  }
})

test('a copy that was loaded before a commit is known after it, for as many commits as are remembered', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(60), (remembered, commits) => {
      const scene = new Scene(remembered)
      const [work] = messages()
      for (let index = 0; index <= commits; index += 1) {
        assert.equal(scene.take(work, `${index}`), 'handle')
        scene.release(work, true, `${index}`)
      }
      for (let age = 0; age < Math.min(remembered, commits + 1); age += 1)
        assert.equal(scene.take(work, `${commits - age}`), 'applied', `${age} ago`)
    }),
  )
})
