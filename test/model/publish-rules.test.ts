import { test } from 'node:test'
import { assertBreaks, assertNeeds } from './expectations.ts'
import * as messages from './messages.ts'
import { keyedStore } from './protocol.ts'
import { protocolMachine } from './protocol-machine.ts'

test('R12: when outputs pass one whose sending failed, they appear before it', () => {
  assertNeeds(
    { messages: messages.oneKey, faults: { failedSend: 1 } },
    {
      without: { afterFailedSend: 'not waited for' },
      kind: 'outputs out of order',
      steps: [/output m0 of A.p0 is lost/, /appends output m1/],
    },
  )
})

test('R12: when outputs pass one whose sending failed, a range of acknowledged ones takes it along', () => {
  assertNeeds(
    { messages: messages.twoKeys, faults: { failedSend: 1 } },
    {
      without: { afterFailedSend: 'not waited for' },
      kind: 'lost output',
      steps: [/output m0 of A.p0 is lost/, /appends output m1/, /acknowledged/],
    },
  )
})

test('R13: an output that is sent before its unit is committed says what never happened', () => {
  assertNeeds(
    { messages: messages.twoKeys, faults: { kill: 1 } },
    {
      without: { publishes: 'when handled' },
      kind: 'phantom output',
      steps: [/A.p0 handles m0/, /appends output m0/],
    },
  )
})

test('R13: without recovery the outputs of an owner that died are lost', () => {
  assertNeeds(
    { messages: messages.twoKeys, faults: { kill: 1 } },
    {
      without: { recovers: false },
      kind: 'lost output',
      steps: [/A commits m0/, /A is killed/, /appends output m1 of B/],
    },
  )
})

test('R13: outputs that are deleted when they are sent are lost with their sender', () => {
  assertNeeds(
    { messages: messages.twoKeys, faults: { kill: 1 } },
    { without: { settles: 'range when sent' }, kind: 'lost output', steps: [/A commits m0/] },
  )
})

test('R13: a duplicate that always emits its output again puts an old one behind a newer one', () => {
  assertNeeds(
    { messages: messages.copy, faults: {}, expectsNewestLast: true },
    {
      without: { duplicates: 'emit always' },
      kind: 'stale last',
      steps: [/appends output m1/, /appends output m0/],
    },
  )
})

test('R13: a duplicate must not emit an output that another partition has published', () => {
  assertNeeds(
    { messages: messages.copyElsewhere, faults: {}, owners: [0, 1], expectsNewestLast: true },
    {
      without: { duplicates: 'emit always' },
      kind: 'stale last',
      steps: [/appends output m1 of A/, /appends output m0 of B/],
    },
  )
})

test('R15: a store without a ledger loses outputs when redelivery does not emit them again', () => {
  assertNeeds(
    { messages: messages.oneKey, faults: { kill: 1 }, protocol: keyedStore },
    {
      without: { duplicates: 'skip' },
      kind: 'outputs out of order',
      steps: [/A commits m0/, /is killed/, /commits m0 \(duplicate\)/, /appends output m1/],
    },
  )
})

test('R15: a store without a ledger keeps outputs for ever when the offset passes unsettled ones', () => {
  assertNeeds(
    { messages: messages.oneKey, faults: { kill: 1 }, protocol: keyedStore },
    {
      without: { offsetAfter: 'acknowledgement' },
      kind: 'stuck',
      steps: [/commits the offset/, /is killed/],
    },
  )
})

test('Limit: an old copy that a former owner has on its way can be the last record of its key', () => {
  assertBreaks(
    protocolMachine({
      messages: messages.oneKey,
      faults: { move: 1 },
      expectsNewestLast: true,
    }),
    {
      kind: 'stale last',
      steps: [/does not notice/, /appends output m1 of B/, /appends output m0 of A/],
    },
  )
})
