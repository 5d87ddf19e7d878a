import { test } from 'node:test'
import { assertNeeds } from './expectations.ts'
import * as messages from './messages.ts'
import { byPositionStateless } from './protocol.ts'

// What a database that fails over has promised and lost. That the owner looks at its rows then is in ledger-rules.test.ts.
const faults = { failOver: 1, move: 1 } as const

test('R2: an epoch given once more after a fail-over lets a former owner commit', () => {
  assertNeeds(
    { messages: messages.oneKey, faults, protocol: byPositionStateless },
    {
      without: { epochs: 'counted in the row' },
      kind: 'effect twice',
      steps: [/the database fails over/, /bumps the epoch/, /commits m/, /commits m/],
    },
  )
})

test('R2: a unit number given once more after a fail-over lets a former owner delete its outputs', () => {
  assertNeeds(
    { messages: messages.oneKey, faults },
    {
      without: { fencesSettling: false },
      kind: 'lost output',
      steps: [/the database fails over/, /B commits/, /A.p0 tells the store/],
    },
  )
})
