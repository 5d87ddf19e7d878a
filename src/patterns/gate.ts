import type { Capability } from '../capability.ts'
import { shown } from '../errors.ts'
import type { Message } from '../message.ts'
import { checkObject, Problems, readOptions } from '../options.ts'
import { defineService, type Service } from '../service.ts'
import type { AnyTopic, Topic } from '../topic.ts'
import { checkGate } from './gate/check.ts'
import type { Facts, GateDefinition } from './gate/definition.ts'
import { markGate } from './gate/gates.ts'
import { gateOptions } from './gate/options.ts'
import { Room, waitForRoom } from './gate/room.ts'
import { type GateDatabase, GateTable } from './gate/table.ts'
import { GateWork } from './gate/work.ts'

/** A topic whose messages are facts of some kind. */
type FactTopic = Topic<string, unknown, unknown, never, never>
type Uses = { readonly db: Capability<GateDatabase> }

// Beside the plain options.
const definitionNames = ['facts', 'outputs', 'table', 'db', 'key', 'open', 'late', 'expire']
const serviceNames = ['batch', 'start', 'outsideReset', 'deadLetter', 'retry', 'idempotency']

/**
 * A service that waits until several facts about a key have come, in whatever order and from one topic or several, and
 * then opens: once. What has come is a row in a table that everybody can read.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function gate<const F extends Facts, const O extends readonly AnyTopic[] = readonly []>(
  name: string,
  definition: GateDefinition<F, O>,
): Service {
  checkObject('gate()', definition, '{ facts, table, db, open(key, facts) { … } }')
  const given = definition as unknown as GateDefinition<Facts, readonly AnyTopic[]>
  const problems = new Problems()
  const others = [...definitionNames, ...serviceNames]
  const plain = Object.entries(given).filter(([option]) => !others.includes(option))
  const { timeout, forget, maxOpen } = readOptions(
    gateOptions,
    Object.fromEntries(plain),
    problems,
    others,
  )
  checkGate(given, problems)
  problems.throwIfAny(`Gate ${shown(name)} is wrong`)
  const { facts, outputs, db, key, open, late = 'ignore', expire } = given
  const columns = Object.entries(facts).map(([fact, { keep }]) => ({
    name: fact,
    isKept: keep !== undefined,
  }))
  const table = new GateTable(given.table, columns, {
    open: timeout !== undefined || maxOpen !== undefined,
    ended: forget !== undefined,
  })
  const work = new GateWork(
    { facts, open, late, expire, timeout },
    table,
    maxOpen === undefined ? undefined : new Room(table, maxOpen),
    key as ((message: Message) => unknown) | undefined,
    forget,
  )
  const { batch, start, outsideReset, deadLetter, retry, idempotency } = given
  const service = defineService<readonly FactTopic[], readonly AnyTopic[], never, never, Uses>(
    name,
    {
      ...(batch === undefined ? {} : { batch }),
      ...(start === undefined ? {} : { start }),
      ...(outsideReset === undefined ? {} : { outsideReset }),
      ...(deadLetter === undefined ? {} : { deadLetter }),
      ...(maxOpen === undefined
        ? retry === undefined
          ? {}
          : { retry }
        : { retry: { ...retry, overrides: [waitForRoom, ...(retry?.overrides ?? [])] } }),
      ...(idempotency === undefined ? {} : { idempotency: idempotency as 'natural' }),
      ...(outputs === undefined ? {} : { outputs }),
      inputs: [...new Set(Object.values(facts).map(({ topic }) => topic as FactTopic))],
      uses: { db },
      handleMany: (messages, context) => work.takeIn(messages, context),
      ...(timeout === undefined && forget === undefined
        ? {}
        : { schedule: { run: (context) => work.tidy(context) } }),
    },
  )
  return markGate(service, table)
}
