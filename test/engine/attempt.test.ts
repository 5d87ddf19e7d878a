import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Attempt, type AttemptParts } from '../../src/engine/attempt.ts'
import { encodeOutputs } from '../../src/engine/outputs.ts'
import type { Cell, Work } from '../../src/engine/partition.ts'
import {
  bytes,
  defineService,
  PolluxError,
  type Service,
  type State,
  topic,
} from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { partitionOf, workOf } from './works.ts'

const output = topic('output', { value: bytes })
const input = topic('input', { value: bytes })

/** Versions are the numbers in the values. */
const versioned = defineService('versioned', {
  inputs: [input],
  outputs: [output],
  idempotency: { by: 'version', of: ({ value }) => Number(value.toString()) },
  handle: ({ value }) => output.message({ key: null, value }),
})

function cellOf(guard: string | null): Cell {
  return {
    name: 'k',
    key: Buffer.from('k'),
    value: null,
    guard,
    version: 1,
    users: 1,
    isInvalid: false,
    edition: 0,
  }
}

function attemptOf(service: Service, work: Work): Attempt {
  const encode: AttemptParts['encode'] = (one, returned) => encodeOutputs(service, one, returned)
  const clock = new ManualClock()
  return new Attempt(
    {
      service,
      logger: silent,
      clock,
      encode,
      worked() {},
      stale() {},
      count() {},
      gauge() {},
      waiting: () => () => {},
    },
    work,
  )
}

/** One run of a handler that waits for nothing, kept. */
function attempted(service: Service, work: Work): void {
  const attempt = attemptOf(service, work)
  attempt.end(attempt.run())
  attempt.keep()
}

test('a message that turns out stale when it is handled again leaves nothing of its first time', () => {
  const work = workOf(partitionOf(), 0, { value: Buffer.from('3') })
  assert.ok(work.effects)
  work.effects.cell = cellOf('2@input/1/0')
  attempted(versioned, work)
  assert.deepEqual([work.outputs.length, work.effects.change?.guard], [1, '3@input/0/0'])
  // Somebody else has brought a newer version meanwhile.
  work.effects.cell.guard = '4@input/1/1'
  work.effects.begin()
  attempted(versioned, work)
  assert.deepEqual([work.outputs, work.effects.change], [[], undefined])
  assert.equal(work.effects.cell.guard, '4@input/1/1')
})

test('R16: what a handler was given is dead once its attempt has ended', async () => {
  for (const isFailing of [false, true]) {
    const work = workOf(partitionOf(), 0)
    assert.ok(work.effects)
    work.effects.cell = cellOf(null)
    work.effects.begin()
    let leaked: State<Buffer> | undefined
    const leaking = defineService('leaking', {
      inputs: [input],
      state: bytes,
      async handle(_, { state }) {
        leaked = state
        await state.put(Buffer.from('in time'))
        if (isFailing) throw new Error('as planned')
      },
    })
    const attempt = attemptOf(leaking, work)
    try {
      attempt.end(await attempt.run())
      attempt.keep()
    } catch (error) {
      attempt.fail(error)
    }
    const isDead = (error: unknown) => PolluxError.is(error, 'POLLUX_STATE_UNAVAILABLE')
    await assert.rejects(async () => leaked?.put(Buffer.from('late')), isDead)
    await assert.rejects(async () => leaked?.get(), isDead)
    await assert.rejects(async () => leaked?.delete(), isDead)
    const kept = work.effects.change?.value?.toString()
    assert.equal(kept, isFailing ? undefined : 'in time')
    assert.equal(work.effects.cell.value?.toString(), kept)
  }
})
