// The checks of this folder have to notice what is wrong: here something is.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Fault } from './faults.ts'
import { freezeAndWake } from './freeze.ts'
import { withCopies, withVersions } from './inputs.ts'
import { newestPerKey, oncePerEvent } from './rules.ts'
import { Scene, type SceneOptions, seed } from './scene.ts'

const cases: readonly (SceneOptions & { readonly fault: Fault; readonly notices: RegExp })[] = [
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
      const scene = await Scene.open(options)
      try {
        await assert.rejects(scene.crashAgainAndAgain(seed, { fault }), notices)
      } finally {
        await scene.close()
      }
    })
  }

  it('what ignores fences (own-sql)', async () => {
    const scene = await Scene.open({
      mechanism: 'own-sql',
      rules: ({ rows, stored }) => oncePerEvent(rows, { stored }),
    })
    try {
      // A transaction that outlives the membership; otherwise the database would end it.
      const store = { ...scene.database.store, statementTimeout: 30_000 }
      const asleep = { point: 'storing', count: 3, tells: /partitions lost/ } as const
      await assert.rejects(
        freezeAndWake(scene, { ...asleep, changes: { store, fault: 'ignores fences' } }),
        ({ cause }: Error) => /it has written nothing more/.test(String(cause)),
      )
    } finally {
      await scene.close()
    }
  })
})
