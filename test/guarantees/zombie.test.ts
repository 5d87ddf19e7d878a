import { describe, it } from 'node:test'
import { type Freeze, freezeAndWake } from './freeze.ts'
import { onKafka } from './on-kafka.ts'
import { oncePerEvent } from './rules.ts'
import type { Mechanism } from './services.ts'

const fenced = /"isFenced":true/
const lost = /partitions lost/
const takenBack = /a transaction was taken back/

const cases: readonly (Freeze & { readonly mechanism: Mechanism; readonly where: string })[] = [
  {
    where: 'with handlers that have ended',
    mechanism: 'offset',
    point: 'handled',
    count: 30,
    tells: fenced,
  },
  { where: 'before a commit', mechanism: 'offset', point: 'storing', count: 3, tells: fenced },
  {
    where: 'between a commit and its outputs',
    mechanism: 'offset',
    point: 'stored',
    count: 3,
    tells: lost,
  },
  {
    where: 'with outputs to be sent',
    mechanism: 'offset',
    point: 'publishing',
    count: 3,
    tells: lost,
  },
  {
    where: 'with outputs on their way',
    mechanism: 'offset',
    point: 'sending',
    count: 3,
    tells: lost,
  },
  {
    where: 'before it commits positions',
    mechanism: 'offset',
    point: 'committing',
    count: 3,
    tells: lost,
  },
  {
    where: 'with outputs sent and not stored',
    mechanism: 'direct-stored',
    point: 'published',
    count: 3,
    tells: fenced,
  },
  {
    where: 'with a transaction that holds locks',
    mechanism: 'own-sql',
    point: 'handled',
    count: 30,
    tells: takenBack,
  },
  {
    where: 'before a transaction commits',
    mechanism: 'own-sql',
    point: 'storing',
    count: 3,
    tells: takenBack,
  },
]

describe('a process that sleeps through the loss of its partitions writes nothing more', {
  concurrency: 3,
}, () => {
  for (const { where, mechanism, ...freeze } of cases) {
    it(`asleep ${where} (${mechanism})`, async () => {
      await onKafka(
        {
          mechanism,
          rules: ({ states, rows, stored }) =>
            oncePerEvent(mechanism === 'own-sql' ? rows : states, { stored }),
        },
        (scene) => freezeAndWake(scene, { ...freeze, changes: { counts: true } }),
      )
    })
  }
})
