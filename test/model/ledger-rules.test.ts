import { test } from 'node:test'
import { assertNeeds } from './expectations.ts'
import * as messages from './messages.ts'
import { byPosition, byPositionStateless } from './protocol.ts'

test('R1: without the ranges above next, what finished out of order is applied twice', () => {
  assertNeeds(
    { messages: messages.twoLanes, faults: { kill: 1 }, protocol: byPosition },
    {
      without: { keepsRanges: false },
      kind: 'effect twice',
      steps: [/A commits m1/, /A is killed/, /B commits m1/],
    },
  )
})

test('R1: without the ledger condition a former owner applies what the new one has applied', () => {
  assertNeeds(
    { messages: messages.oneKey, faults: { move: 1 }, protocol: byPositionStateless },
    {
      without: { fence: 'none', hasUnitNumber: false },
      kind: 'effect twice',
      steps: [/moves p0 to B/, /commits m0/, /commits m0/],
    },
  )
})

test('R1: an epoch that is only read when the transaction begins does not fence', () => {
  assertNeeds(
    { messages: messages.oneKey, faults: { move: 1 }, protocol: byPositionStateless },
    {
      without: { fence: 'read at begin', hasUnitNumber: false },
      kind: 'effect twice',
      steps: [/A begins a transaction for m0/, /B.p0 bumps the epoch/, /commits the unit of m0/],
    },
  )
})

test('R1: without positions as duplicates, a mark that was forgotten lets its message in again', () => {
  assertNeeds(
    {
      messages: messages.twoKeys,
      faults: { kill: 1, cleanUp: 1 },
      protocol: { start: 'group offset' },
    },
    {
      without: { knowsPositions: false },
      kind: 'effect twice',
      steps: [/A commits m0/, /clean-up deletes marks/, /B commits m0/],
    },
  )
})

test('R2: without the unit number a commit whose answer was lost is applied twice', () => {
  assertNeeds(
    { messages: messages.twoKeys, faults: { lostAnswer: 1 }, protocol: byPositionStateless },
    {
      without: { hasUnitNumber: false },
      kind: 'effect twice',
      steps: [
        /A commits m0, and no answer comes/,
        /executes the unanswered request of A|A repeats the unit of m0/,
        /executes the unanswered request of A|A repeats the unit of m0/,
      ],
    },
  )
})

test('R2: without a look at the ledger after a fail-over nobody notices the commit that is lost', () => {
  assertNeeds(
    { messages: messages.twoKeys, faults: { failOver: 1 } },
    {
      without: { verifiesAfterFailOver: false },
      kind: 'stuck',
      steps: [/A commits m0/, /the database fails over/],
    },
  )
})

test('R3: a new owner that reads before it bumps applies what the old one commits in between', () => {
  assertNeeds(
    { messages: messages.oneKey, faults: { move: 1 }, protocol: byPositionStateless },
    {
      without: { acquire: 'read, then bump' },
      kind: 'effect twice',
      steps: [/B.p0 reads its rows/, /A commits m0/, /B.p0 bumps the epoch/, /B commits m0/],
    },
  )
})

test('R3: a new owner that reads before it bumps misses the outputs stored in between', () => {
  assertNeeds(
    { messages: messages.oneKey, faults: { move: 1 } },
    {
      without: { acquire: 'read, then bump' },
      kind: 'outputs out of order',
      steps: [/B.p0 reads its rows/, /A commits m0/, /B.p0 bumps the epoch/, /B commits .*m1/],
    },
  )
})

test('R3: without a limit on idle transactions a frozen owner blocks its successor for ever', () => {
  assertNeeds(
    { messages: messages.oneKey, faults: { freeze: 1 }, protocol: { fence: 'locked at begin' } },
    {
      without: { limitsTransactions: false },
      kind: 'stuck',
      steps: [/A begins a transaction/, /A stops for ever/],
    },
  )
})

test("R4: work that starts at the group's offset repeats what was stored and not reported", () => {
  assertNeeds(
    { messages: messages.twoKeys, faults: { kill: 1 }, protocol: byPositionStateless },
    {
      without: { start: 'group offset', knowsPositions: false },
      kind: 'effect twice',
      steps: [/A commits m0/, /A is killed/, /B commits m0/],
    },
  )
})

test("R4: work that starts at the group's offset passes over what a fail-over has taken back", () => {
  assertNeeds(
    { messages: messages.twoKeys, faults: { failOver: 1, kill: 1 } },
    {
      without: { start: 'group offset', knowsPositions: false },
      kind: 'stuck',
      steps: [/commits the offset/, /the database fails over/],
    },
  )
})

test('R4: an offset that passes what is only handled reports what may never be stored', () => {
  assertNeeds(
    { messages: messages.twoKeys, faults: { kill: 1 } },
    { without: { offsetAfter: 'handling' }, kind: 'offset too far', steps: [/A.p0 handles m0/] },
  )
})
