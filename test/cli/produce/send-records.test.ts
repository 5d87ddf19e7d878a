import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type InputRecord,
  type InputRecords,
  LineProblem,
} from '../../../src/cli/produce/input-record.ts'
import { type SendTotals, sendRecords } from '../../../src/cli/produce/send-records.ts'
import type { BrokerProducer, OutgoingRecord, Refusal } from '../../../src/ports/broker.ts'

function record(line: number): InputRecord {
  return { line, key: null, value: Buffer.from(String(line)) }
}

interface Sent extends BrokerProducer {
  readonly batches: string[][]
}

function producer(
  refuse: (record: OutgoingRecord) => 'check' | 'send' | undefined = () => undefined,
): Sent {
  const batches: string[][] = []
  return {
    batches,
    check: (outgoing) => (refuse(outgoing) === 'check' ? new Error('too large') : undefined),
    send(records) {
      const refusals: Refusal[] = []
      records.forEach((outgoing, index) => {
        if (refuse(outgoing) === 'send') refusals.push({ index, error: new Error('not today') })
      })
      batches.push(records.map(({ value }) => String(value)))
      return Promise.resolve(refusals)
    },
    close: () => Promise.resolve(),
  }
}

async function* groups(...given: readonly number[][]): InputRecords {
  for (const lines of given) yield lines.map(record)
}

async function send(
  to: BrokerProducer,
  records: InputRecords,
  more: Partial<Parameters<typeof sendRecords>[0]> = {},
): Promise<SendTotals> {
  let totals: SendTotals = { records: 0, bytes: 0 }
  await sendRecords({
    producer: to,
    topic: 't',
    records,
    batch: 3,
    rate: undefined,
    stop: new AbortController().signal,
    onAcknowledged: (now) => {
      totals = now
    },
    ...more,
  })
  return totals
}

test('Records are sent in batches, in order, and the rest at the end', async () => {
  const to = producer()
  assert.deepEqual(await send(to, groups([1, 2, 3, 4], [5, 6], [7])), { records: 7, bytes: 7 })
  assert.deepEqual(to.batches, [['1', '2', '3'], ['4', '5', '6'], ['7']])
})

test('Everything before a bad line is acknowledged before its error is thrown', async () => {
  const to = producer()
  async function* bad(): InputRecords {
    yield [record(1), record(2), record(3), record(4)]
    throw new LineProblem(5, { expected: 'JSON', found: 'none' })
  }
  await assert.rejects(send(to, bad()), LineProblem)
  assert.deepEqual(to.batches.flat(), ['1', '2', '3', '4'])
})

test('A record that the broker would refuse is not sent, those before it are', async () => {
  const to = producer(({ value }) => (String(value) === '2' ? 'check' : undefined))
  await assert.rejects(send(to, groups([1, 2, 3])), { line: 2, found: 'too large' })
  assert.deepEqual(to.batches.flat(), ['1'])
})

test('A record that the broker refused is told by line, with how far the others were written', async () => {
  const to = producer(({ value }) => (String(value) === '2' ? 'send' : undefined))
  await assert.rejects(send(to, groups([1, 2, 3])), {
    code: 'POLLUX_OUTPUT_REFUSED',
    message: /lines 2: not today.* up to line 3 were written/,
  })
})

test('A stop ends after what was read, without waiting for the source', {
  timeout: 5_000,
}, async () => {
  const to = producer()
  const controller = new AbortController()
  async function* endless(): InputRecords {
    yield [record(1)]
    await new Promise((_, reject) => {
      controller.signal.addEventListener('abort', () =>
        reject(new DOMException('stopped', 'AbortError')),
      )
      controller.abort()
    })
  }
  assert.deepEqual(await send(to, endless(), { stop: controller.signal }), { records: 1, bytes: 1 })
})

test('A source that pauses does not hold back what it gave', { timeout: 5_000 }, async () => {
  const to = producer()
  const more = Promise.withResolvers<void>()
  async function* slow(): InputRecords {
    yield [record(1)]
    await more.promise
  }
  const first = Promise.withResolvers<SendTotals>()
  const sending = send(to, slow(), { onAcknowledged: first.resolve })
  assert.equal((await first.promise).records, 1)
  more.resolve()
  await sending
})

test('A rate is kept', async () => {
  const to = producer()
  const start = performance.now()
  await send(to, groups([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), { rate: 50, batch: 500 })
  const took = performance.now() - start
  // Batches of 5 at 50/s: the second one is due after 100 ms.
  assert.ok(took >= 95, `${took} ms`)
  assert.deepEqual(
    to.batches.map((batch) => batch.length),
    [5, 5],
  )
})
