import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Admission } from '../../src/engine/admission.ts'
import { Dispatcher } from '../../src/engine/dispatcher.ts'
import { Lanes } from '../../src/engine/lanes.ts'
import type { Work } from '../../src/engine/partition.ts'
import { bytes, defineService, topic } from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { systemClock } from '../../src/system-clock.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { partitionOf, workOf } from './works.ts'

test('R7: a message that is skipped when its turn comes again leaves nothing of its first time', () => {
  const partition = partitionOf()
  const lanes = new Lanes('key', true)
  lanes.add(partition)
  const work = workOf(partition, 0)
  assert.ok(work.effects)
  work.effects.isLoaded = true
  // It was handled, in vain; meanwhile a copy of its event was committed.
  const record = { topic: 'output', partition: undefined, key: null, timestamp: undefined }
  work.outputs = [{ ...record, value: Buffer.from('of the first time'), headers: [] }]
  partition.queue.push(work)
  const finished: Work[] = []
  const dispatcher = new Dispatcher({
    attempts: {
      service: defineService('service', {
        inputs: [topic('input', { value: bytes })],
        handle() {
          throw new Error('it is not handled')
        },
      }),
      logger: silent,
      encode: () => [],
      worked() {},
      stale() {},
      clock: new ManualClock(),
      count() {},
      waiting: () => () => {},
      gauge() {},
    },
    lanes,
    admission: { admit: () => 'skip' } as unknown as Admission,
    outcomes: {
      finished: (one) => void finished.push(one),
      skipped() {},
      failed: (_, error) => assert.fail(error),
      again: () => assert.fail('it is done'),
      startedAll() {},
    },
    outage: { mayStart: () => true },
    clock: systemClock,
  })
  dispatcher.dispatch()
  assert.deepEqual(finished, [work])
  assert.deepEqual(work.outputs, [])
})
