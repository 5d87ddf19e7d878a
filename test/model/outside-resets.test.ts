import { test } from 'node:test'
import { assertBreaks, assertHolds } from './expectations.ts'
import { resetMachine } from './outside-resets.ts'

const faults = { kill: 2, move: 1, reset: 1 }

for (const policy of ['stop', 'ledger'] as const) {
  test(`R4: with outsideReset '${policy}' offsets set from outside hold, through kills and a former owner`, () => {
    assertHolds(resetMachine(2, faults, { policy }))
  })
}

test("R4: with outsideReset 'follow' a reset is followed once, through kills or a former owner", () => {
  assertHolds(resetMachine(3, { ...faults, move: 0 }, { policy: 'follow' }))
  assertHolds(resetMachine(3, { ...faults, kill: 1 }, { policy: 'follow' }))
})

test('not promised: a former owner that wakes behind the follower, which dies before its claim, has it followed again', () => {
  assertBreaks(resetMachine(2, faults, { policy: 'follow' }), {
    kind: 'effect twice',
    steps: [/B compares: reset/, /A acquires/, /A commits m0/, /B is killed/, /B compares: reset/],
  })
})

test('R4: without a claim before the work, a crash makes what was followed a reset once more', () => {
  assertBreaks(resetMachine(2, faults, { policy: 'follow', claimsFirst: false }), {
    kind: 'effect twice',
    steps: [
      /the offset is set to 0/,
      /compares: reset/,
      /commits m0/,
      /compares: reset/,
      /commits m0/,
    ],
  })
})

test('R4: without the offset in its text, a tool that keeps the text is passed over', () => {
  assertBreaks(resetMachine(2, faults, { policy: 'follow', textHasOffset: false }), {
    kind: 'reset passed over',
    steps: [/the offset is set to \d, with its text/, /compares: ledger/],
  })
})

test('R4: a text that names the ledger before it has work stops the next owner for nothing', () => {
  assertBreaks(resetMachine(2, { kill: 1 }, { policy: 'stop', namesLedgerWithWork: false }), {
    kind: 'stopped for nothing',
    steps: [/commits its offset/, /is killed/, /compares: lost/],
  })
})

test('R4: without a proof of membership, a former owner follows what its successor has followed', () => {
  assertBreaks(resetMachine(2, faults, { policy: 'follow', provesFirst: false }), {
    kind: 'effect twice',
    steps: [
      /the offset is set to 0/,
      /moves the partition/,
      /commits m0/,
      /compares: reset/,
      /commits m0/,
    ],
  })
})
