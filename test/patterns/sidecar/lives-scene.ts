import assert from 'node:assert/strict'
import type { Broker, Position } from '../../../src/ports/broker.ts'
import { silent } from '../../../src/ports/logger.ts'
import { chanceOf } from '../../../src/testing/crash/chance.ts'
import {
  areSettled,
  eventually,
  finishInPeace,
  messagesOf,
  sendTo,
} from '../../../src/testing/index.ts'
import { Child } from '../../crash/child-process.ts'
import { feeders, plainFold, type Row, tables, thingsOf, versionedFold } from './lives.ts'
import { type LifeSettings, openBroker, targetFor } from './lives-process.ts'

/** Where sidecars live: with tables `plain`, `versioned` and `noted` of `id`, `a` and `b`, and a `revision` in one of them. */
export interface LivesWorld {
  /** One for each member of the group. */
  readonly members: readonly LifeSettings[]
  readonly broker: Broker
  ask(statement: string): Promise<readonly Record<string, unknown>[]>
  /** Makes a table refuse rows by chance, the same for as long as a connection lives; returns what ends that. */
  hinder(table: string): Promise<() => Promise<void>>
}

const messages = 2_000

/**
 * Sidecars are killed again and again while their tables refuse rows now and then: so batches fail in part, processes end by
 * that, and what was behind is delivered once more. Then all of the log is read again from its start, with more kills. Both
 * times the tables are what the log comes to, one message after the other.
 */
export async function liveAndReplay(world: LivesWorld, seed: number): Promise<void> {
  const { members, broker } = world
  const [{ name }] = members as [LifeSettings]
  const chance = chanceOf(seed)
  await broker.connect()
  await broker.admin.createTopics([{ name, partitions: 3 }])
  await sendTo(broker, ...randomLog(name, chance))
  const ends = await Promise.all(tables.map((table) => world.hinder(table)))
  await die(members, { lives: 8, refusals: 2, chance })
  for (const end of ends) await end()
  await finish(world)
  await Promise.all(servicesOf(members).map((service) => rewind(members, service.name, name)))
  await die(members, { lives: 4, refusals: 0, chance })
  await finish(world)
}

/** A log with keys that come again and again, tombstones, absent fields, and versions out of order. */
function randomLog(name: string, chance: () => number) {
  const any = (most: number): number => Math.floor(chance() * most)
  return Array.from({ length: messages }, (_, index) => {
    const value = {
      ...(any(3) === 0 ? {} : { a: any(4) === 0 ? null : `a${index}` }),
      ...(any(3) === 0 ? {} : { b: `b${index}` }),
      revision: Math.max(1, index - any(200)),
    }
    return thingsOf(name).message({ key: `k${any(40)}`, value: any(8) === 0 ? null : value })
  })
}

const servicesOf = ([first]: readonly LifeSettings[]) =>
  feeders(first?.name ?? '', (table) => targetFor(first as LifeSettings, table))

const refused = /POLLUX_ROW_REFUSED/

/**
 * Each member lives again and again, and is killed after it has done some of the work, unless it ends by a refused row, as some
 * have to.
 */
async function die(
  members: readonly LifeSettings[],
  plan: { readonly lives: number; readonly refusals: number; readonly chance: () => number },
): Promise<void> {
  let { lives, refusals } = plan
  const liveOn = async (settings: LifeSettings): Promise<void> => {
    while (lives > 0 || refusals > 0) {
      lives -= 1
      const child = new Child('patterns/sidecar/lives-process.ts', settings)
      const enough = 1 + Math.floor(plan.chance() * 24)
      await eventually('a part of the work', () => child.hasEnded || child.lines.length >= enough)
      // It stops in front of that row, and ends when it has brought to an end what else it had begun.
      if (refused.test(child.errors)) await eventually('its end', () => child.hasEnded)
      await child.kill()
      if (child.exitCode === null) continue
      assert.match(child.errors, refused)
      refusals -= 1
    }
  }
  await Promise.all(members.map(liveOn))
}

/** The members live in peace until all is fed, and the tables are as they should be. */
async function finish({ members, broker, ask }: LivesWorld): Promise<void> {
  const starters = members.map(
    (settings) => () => new Child('patterns/sidecar/lives-process.ts', settings),
  )
  const [{ name, schema }] = members as [LifeSettings]
  await finishInPeace(starters, () => areSettled(broker, servicesOf(members)))
  // Of each key in the order of its partition.
  const log = await messagesOf(broker, thingsOf(name))
  for (const table of tables) {
    const rows = await ask(`select id, a, b from ${schema}.${table}`)
    const found = new Map(rows.map(({ id, a, b }) => [id, [a, b]] as [string, Row]))
    assert.deepEqual(found, table === 'plain' ? plainFold(log) : versionedFold(log), table)
  }
  assert.ok(plainFold(log).size > 10)
}

/** Sets a group back to the start of its topic, by members that come in the place of those that are gone. */
async function rewind(
  settings: readonly LifeSettings[],
  group: string,
  topic: string,
): Promise<void> {
  const rewound = new Set<number>()
  const brokers = settings.map(openBroker)
  const members = await Promise.all(
    brokers.map(async (broker) => {
      const given: Position[] = []
      const member = await broker.join(
        { group, topics: [topic], start: 'earliest', logger: silent },
        {
          assigned: async (partitions) => {
            given.push(...partitions.map(({ partition }) => ({ topic, partition, offset: 0 })))
            return []
          },
          revoked: async () => {},
          lost: () => {},
        },
      )
      return { member, given }
    }),
  )
  await eventually('all is set back', async () => {
    for (const { member, given } of members) {
      await member.poll(1)
      if (given.length === 0) continue
      await member.commit(given)
      for (const { partition } of given) rewound.add(partition)
    }
    return rewound.size === 3
  })
  for (const broker of brokers) await broker.close()
}
