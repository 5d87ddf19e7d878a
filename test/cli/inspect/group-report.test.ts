import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupText } from '../../../src/cli/inspect/execute-group.ts'
import { readGroupReport, reportOf } from '../../../src/cli/inspect/group-report.ts'
import { PolluxError } from '../../../src/errors.ts'
import type { BrokerAdmin, GroupDescription } from '../../../src/ports/broker.ts'

const group: GroupDescription = {
  group: 'g',
  state: 'Stable',
  members: [{ id: 'm1', clientId: 'c', host: 'h', partitions: [{ topic: 't', partition: 2 }] }],
  offsets: [
    { topic: 't', partition: 0, offset: 4 },
    { topic: 't', partition: 1, offset: 2 },
    { topic: 't', partition: 3, offset: 99 },
  ],
}
const ranges = [
  { topic: 't', partition: 0, earliest: 0, latest: 10 },
  { topic: 't', partition: 1, earliest: 5, latest: 9 },
  { topic: 't', partition: 2, earliest: 0, latest: 7 },
  { topic: 't', partition: 3, earliest: 0, latest: 50 },
]

test('case 62: lag is never negative, counts only what is kept, and is unknown without a commit', () => {
  const report = reportOf(group, ranges)
  assert.deepEqual(
    report.partitions.map(({ partition, offset, end, lag, member }) => [
      partition,
      offset,
      end,
      lag,
      member,
    ]),
    [
      [0, 4, 10, 6, null],
      [1, 2, 9, 4, null],
      [2, null, 7, null, 'm1'],
      [3, 99, 50, 0, null],
    ],
  )
  assert.equal(report.lag, 10)
  assert.equal(report.withoutOffset, 1)
})

test('The text shows a missing commit as such, never as -1', () => {
  const text = groupText(reportOf(group, ranges))
  assert.match(text, /lag {6}10, and 1 partition without a commit/)
  assert.match(text, /t +2 +none +7 +unknown +m1/)
  assert.doesNotMatch(text, /-1/)
})

test('A topic that was deleted does not hide the others', async () => {
  const offsets = [...group.offsets, { topic: 'gone', partition: 0, offset: 3 }]
  const admin = {
    group: () => Promise.resolve({ ...group, offsets }),
    ranges: ([topic]: string[]) =>
      topic === 't'
        ? Promise.resolve(ranges)
        : Promise.reject(new PolluxError('POLLUX_TOPIC_UNKNOWN', 'x')),
  } as unknown as BrokerAdmin
  const report = await readGroupReport(admin, 'g')
  assert.deepEqual(report.partitions[0], {
    topic: 'gone',
    partition: 0,
    offset: 3,
    end: null,
    lag: null,
    member: null,
  })
  assert.equal(report.partitions.length, 5)
})
