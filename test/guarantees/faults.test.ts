// The checks of this folder have to notice what is wrong: here something is.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Fault } from './faults.ts'
import { freezeAndWake } from './freeze.ts'
import { withCopies, withVersions } from './inputs.ts'
import { type OnKafkaOptions, onKafka } from './on-kafka.ts'
import { newestPerKey, onceInTransactions, oncePerEvent } from './rules.ts'

const cases: readonly (OnKafkaOptions & { readonly fault: Fault; readonly notices: RegExp })[] = [
  {
    fault: 'forgets outputs',
    notices: /has no output|outputs/,
    mechanism: 'offset',
    rules: ({ states, stored }) => oncePerEvent(states, { stored }),
  },
  {
    fault: 'acknowledges too early',
    notices: /has no output|outputs/,
    mechanism: 'offset',
    rules: ({ states, stored }) => oncePerEvent(states, { stored }),
  },
  {
    fault: 'acknowledges too early',
    notices: /has no output|outputs/,
    mechanism: 'direct',
    rules: () => oncePerEvent(undefined),
  },
  {
    fault: 'takes transactions apart',
    notices: /has its output twice/,
    mechanism: 'transaction',
    rules: () => onceInTransactions,
  },
  {
    fault: 'ignores positions',
    notices: /had its effect twice/,
    mechanism: 'offset',
    rules: ({ states, stored }) => oncePerEvent(states, { stored }),
  },
  {
    fault: 'ignores marks',
    notices: /had its effect twice/,
    mechanism: 'event-id',
    inputsOf: withCopies,
    rules: ({ states, stored }) => oncePerEvent(states, { stored, isOrdered: () => false }),
  },
  {
    fault: 'ignores versions',
    notices: /among its effects/,
    mechanism: 'version',
    inputsOf: withVersions,
    rules: ({ states, stored }) => newestPerKey(states, stored),
  },
]

describe('the checks notice', { concurrency: 2 }, () => {
  for (const { fault, notices, ...options } of cases) {
    it(`what ${fault} (${options.mechanism})`, async () => {
      await onKafka(options, async (scene) => {
        await assert.rejects(scene.crashAgainAndAgain({ fault }), notices)
      })
    })
  }

  it('what ignores fences (own-sql)', async () => {
    await onKafka(
      {
        mechanism: 'own-sql',
        rules: ({ rows, stored }) => oncePerEvent(rows, { stored }),
      },
      async (scene, database) => {
        // A transaction that outlives the membership; otherwise the database would end it.
        const store = { ...database.store, statementTimeout: 30_000 }
        const asleep = { point: 'storing', count: 3, tells: /partitions lost/ } as const
        await assert.rejects(
          freezeAndWake(scene, { ...asleep, changes: { store, fault: 'ignores fences' } }),
          ({ cause }: Error) => /it has written nothing more/.test(String(cause)),
        )
      },
    )
  })
})
