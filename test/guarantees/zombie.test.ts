import { describe, it } from 'node:test'
import type { Database } from './database.ts'
import { type Freeze, freezeAndWake } from './freeze.ts'
import { onKafka } from './on-kafka.ts'
import { onceInTransactions, oncePerEvent } from './rules.ts'
import type { Mechanism } from './services.ts'
import type { Rules } from './witness.ts'

interface Case extends Freeze {
  readonly where: string
  readonly mechanism: Mechanism
}

const fenced = /"isFenced":true/
const lost = /partitions lost/
const takenBack = /a transaction was taken back/

const cases: readonly Case[] = [
  {
    where: 'with handlers that have ended',
    mechanism: 'offset',
    point: 'handled',
    count: 30,
    // It hears first of the loss, or tries to commit before.
    tells: /partitions lost|"isFenced":true/,
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
  { where: 'before a commit', mechanism: 'event-id', point: 'storing', count: 3, tells: fenced },
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
  {
    where: 'before a transaction begins',
    mechanism: 'transaction',
    point: 'publishing',
    count: 3,
    tells: lost,
  },
  {
    where: 'in a transaction of Kafka',
    mechanism: 'transaction',
    point: 'sending',
    count: 3,
    tells: lost,
  },
]

describe('a process that sleeps through the loss of its partitions writes nothing more', {
  concurrency: 3,
}, () => {
  for (const { where, mechanism, ...freeze } of cases) {
    it(`asleep ${where} (${mechanism})`, async () => {
      await onKafka({ mechanism, rules: (database) => rulesOf(mechanism, database) }, (scene) =>
        freezeAndWake(scene, { ...freeze, changes: { counts: true } }),
      )
    })
  }
})

function rulesOf(mechanism: Mechanism, { rows, states, stored }: Database): Rules {
  if (mechanism === 'transaction') return onceInTransactions
  return oncePerEvent(mechanism === 'own-sql' ? rows : states, { stored })
}
