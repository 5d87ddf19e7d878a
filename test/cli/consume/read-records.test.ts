import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRecords } from '../../../src/cli/consume/read-records.ts'
import { PolluxError } from '../../../src/errors.ts'
import type { RawMessage } from '../../../src/message.ts'
import type { Broker, LogRange } from '../../../src/ports/broker.ts'
import { silent } from '../../../src/ports/logger.ts'

function message(partition: number, offset: number): RawMessage {
  const rest = { timestamp: 0, key: null, value: null, headers: [] }
  return { topic: 't', partition, offset, ...rest }
}

interface Reading {
  readonly read: string[]
  readonly warnings: string[]
  readonly closed: number
  readonly asked: number
}

/** Reads what a broker gives that has these polls, and then none. */
async function readAll(
  polls: readonly (readonly RawMessage[])[],
  ends: readonly LogRange[] | undefined,
  more: Partial<Parameters<typeof readRecords>[0]> & { readonly isDown?: boolean } = {},
): Promise<Reading> {
  const rest = [...polls]
  const read: string[] = []
  const warnings: string[] = []
  let closed = 0
  let asked = 0
  const broker = {
    reader: () =>
      Promise.resolve({
        poll: (max: number) =>
          new Promise((resolve) => setImmediate(() => resolve((rest.shift() ?? []).slice(0, max)))),
        close() {
          closed += 1
          return Promise.resolve()
        },
      }),
    admin: {
      ranges() {
        asked += 1
        return more.isDown === true
          ? Promise.reject(new PolluxError('POLLUX_BROKER_UNREACHABLE', 'down'))
          : Promise.resolve(ends)
      },
    },
  } as unknown as Broker
  await readRecords({
    broker,
    positions: [
      { topic: 't', partition: 0, offset: 0 },
      { topic: 't', partition: 1, offset: 0 },
    ],
    ends,
    limit: Number.POSITIVE_INFINITY,
    stop: new AbortController().signal,
    logger: { ...silent, warn: (_, text) => warnings.push(text) },
    idleLimit: 20,
    write(records) {
      read.push(...records.map(({ partition, offset }) => `${partition}/${offset}`))
      return Promise.resolve()
    },
    ...more,
  })
  return { read, warnings, closed, asked }
}

function ends(...latest: readonly number[]): LogRange[] {
  return latest.map((end, partition) => ({ topic: 't', partition, earliest: 0, latest: end }))
}

test('Reading ends at the ends that were seen at the start, whatever is written later', async () => {
  const polls = [
    [message(0, 0), message(0, 1)],
    [],
    [message(0, 2), message(1, 0)],
    [message(1, 1)],
  ]
  const { read, warnings, closed } = await readAll(polls, ends(2, 1))
  assert.deepEqual(read, ['0/0', '0/1', '1/0'])
  assert.deepEqual([warnings, closed], [[], 1])
})

test('The limit counts records of all partitions', async () => {
  const { read } = await readAll([[message(0, 0), message(1, 0), message(0, 1)]], undefined, {
    limit: 2,
  })
  assert.deepEqual(read, ['0/0', '1/0'])
})

test('Last offsets without a record end the reading, once the broker has answered, and are told', async () => {
  const { read, warnings, asked } = await readAll([[message(0, 0)]], ends(3, 0))
  assert.deepEqual([read, asked], [['0/0'], 1])
  assert.match(warnings[0] ?? '', /t\/0 at 1 of 3/)
})

test('A broker that went away is an error, not the end of the log', async () => {
  await assert.rejects(readAll([], ends(3, 0), { isDown: true }), {
    code: 'POLLUX_BROKER_UNREACHABLE',
  })
})

test('An empty log opens no reader', async () => {
  assert.equal((await readAll([], ends(0, 0))).closed, 0)
})
