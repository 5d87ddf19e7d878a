import { test } from 'node:test'
import { assertNeeds } from './expectations.ts'
import * as messages from './messages.ts'
import { byPositionStateless } from './protocol.ts'

// What a database that fails over has promised and lost. An owner notices; a former owner, whose epoch and unit numbers
// are given once more to others, does not. These two choices would help.
const lasting = { epochs: 'never twice', fencesSettling: true } as const

test('Limit: an epoch given once more after a fail-over lets a former owner commit', () => {
  assertNeeds(
    {
      messages: messages.oneKey,
      faults: { failOver: 1, move: 1 },
      protocol: { ...byPositionStateless, ...lasting },
    },
    {
      without: { epochs: 'counted in the row' },
      kind: 'effect twice',
      steps: [/the database fails over/, /bumps the epoch/, /commits m/, /commits m/],
    },
  )
})

test('Limit: a unit number given once more after a fail-over lets a former owner delete its outputs', () => {
  assertNeeds(
    { messages: messages.oneKey, faults: { failOver: 1, move: 1 }, protocol: lasting },
    {
      without: { fencesSettling: false },
      kind: 'lost output',
      steps: [/the database fails over/, /B commits/, /A.p0 tells the store/],
    },
  )
})
