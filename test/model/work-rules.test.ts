import { test } from 'node:test'
import { assertNeeds } from './expectations.ts'
import * as messages from './messages.ts'
import { byPosition } from './protocol.ts'

test('R7: without claims, and with marks passed over, two copies in one unit are both applied', () => {
  assertNeeds(
    { messages: messages.copy, faults: {} },
    {
      without: { claims: false, secondMark: 'passed over' },
      kind: 'effect twice',
      steps: [/A.p0 handles m0/, /A.p0 handles m2/, /A commits m0/],
    },
  )
})

test('R7: a mark that is passed over lets a copy in that another owner has applied', () => {
  assertNeeds(
    { messages: messages.copyElsewhere, faults: {}, owners: [0, 1] },
    {
      without: { secondMark: 'passed over' },
      kind: 'effect twice',
      steps: [/handles/, /handles/, /commits m[02]$/, /commits m[02]$/],
    },
  )
})

test('R8: an owner that lets go when it is fenced leaves a partition that the group counts as its', () => {
  assertNeeds(
    { messages: messages.twoKeys, faults: { lostAnswer: 1 } },
    {
      without: { fenced: 'let go' },
      kind: 'stuck',
      steps: [/no answer comes/, /executes the unanswered request/, /A repeats the unit/],
    },
  )
})

test('R8: work of another partition that was built on dropped work must be dropped as well', () => {
  assertNeeds(
    { messages: messages.sharedKey, faults: { move: 1 } },
    {
      without: { dropsDependents: false },
      kind: 'built on lost work',
      steps: [/handles m0/, /handles m1/, /learns that the group|commits m0/, /commits m1/],
    },
  )
})

test('R9: a parked row that a handler writes by itself is drained by one owner and applied by another', () => {
  assertNeeds(
    { messages: messages.parking, faults: { move: 1 }, protocol: byPosition },
    {
      without: { parking: 'handler' },
      kind: 'effect twice',
      steps: [/moves p0 to B/, /which was parked/],
    },
  )
})

test('R9: when the store says what is parked, a message overtakes one that is about to be', () => {
  assertNeeds(
    { messages: messages.parking, faults: {} },
    {
      without: { parkedBy: 'store' },
      kind: 'effects out of order',
      steps: [/handles m0/, /handles m1/, /commits m0 \(parked\), m1/],
    },
  )
})

test('R10: a mark above next that is deleted by age lets its message in again', () => {
  assertNeeds(
    {
      messages: messages.twoLanes,
      faults: { cleanUp: 1, kill: 1 },
      protocol: { keepsRanges: false },
    },
    {
      without: { cleanUp: 'all' },
      kind: 'effect twice',
      steps: [/A commits m1/, /clean-up deletes marks/, /commits m1/],
    },
  )
})

test('R14: a bisect in any order applies a message before an earlier one of its lane', () => {
  assertNeeds(
    { messages: messages.poisonAndOther, faults: {} },
    {
      without: { bisect: 'any order' },
      kind: 'effects out of order',
      steps: [/handles m0/, /handles m2/, /commits m0, m2/, /commits m2/],
    },
  )
})

test('R14: a result that was built on a dead-lettered message must be discarded', () => {
  assertNeeds(
    { messages: messages.poisonAndOther, faults: {} },
    {
      without: { discardsLane: false },
      kind: 'built on lost work',
      steps: [/handles m0/, /handles m2/, /commits m0 \(dead letter\)/, /commits m2/],
    },
  )
})
