import assert from 'node:assert/strict'
import { kafka } from '../../../src/kafka/index.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import {
  areSettled,
  type Crash,
  CrashProcess,
  crashAgainAndAgain,
  crashPointsOf,
  type Deaths,
  finishInPeace,
} from '../../../src/testing/index.ts'
import { Database } from '../database.ts'
import { brokers } from '../on-kafka.ts'
import { booksOf } from './books.ts'
import { dieAtWork } from './die-at-work.ts'
import { FactWriter } from './facts.ts'
import type { GateMember } from './member-process.ts'
import { Publications } from './publications.ts'
import { ReadinessTable } from './readiness-table.ts'

export interface GateProof {
  /** Of the group, the topics and the schema. Nothing may have it yet. */
  readonly name: string
  readonly books: number
  /** Processes of the group. */
  readonly members: number
  /** How many processes are killed in all: at each point where one can die equally often, and at any moment. */
  readonly deaths: number
  /** What chance follows from. */
  readonly seed: number
  /** Milliseconds that each part of the rest may take, once all have died where they were to. Default 60 000. */
  readonly deadline?: number
  /** Ends it early: it rejects with the signal's reason, with all that it has started ended. */
  readonly signal?: AbortSignal
  /** Is told how far it is. */
  readonly tell?: (progress: string) => void
}

export interface GateProven {
  /** How many messages were written, copies included. */
  readonly facts: number
  /** Where they died, of those that were to. */
  readonly deaths: Deaths
  /** How many were killed while all worked through the rest. */
  readonly killedAtWork: number
  /** Outputs that are there more than once, under the same id. */
  readonly copies: number
}

/**
 * Three facts about each book come in any order, many twice, to a gate whose members are killed again and again. Rejects
 * unless each book has opened exactly once: by the outputs, by their ids, and by the table.
 */
export async function proveGateOnce(proof: GateProof): Promise<GateProven> {
  const { name, books: count, signal, tell = () => {} } = proof
  const books = booksOf(name)
  const [database, table] = [new Database(name), new ReadinessTable(name)]
  const broker = kafka({ brokers })
  const publications = new Publications()
  await broker.connect()
  try {
    await makeTopics(broker, books, proof.members)
    await database.open()
    await table.make()
    await publications.open(broker, books.published.name)
    const writer = await FactWriter.open(broker, books, { ...proof, meals: 2 * proof.deaths })
    const deaths = await letDie(proof, writer, publications)
    tell(`${publications.books} of ${count} books are out, and all facts are written now`)
    await writer.finish()
    const killedAtWork = await dieAtWork(proof, startersOf(proof), publications)
    tell(`${killedAtWork} more killed; ${publications.books} books are out`)
    await finishInPeace(
      startersOf(proof),
      async () => signal?.aborted === true || (await areSettled(broker, [books.service])),
      proof.deadline,
    )
    signal?.throwIfAborted()
    await publications.check()
    assert.equal(publications.books, count, 'each book is published')
    await table.check(count)
    await database.checkSettled(
      await broker.admin.ranges(books.inputs.map(({ name: input }) => input)),
    )
    await writer.close()
    return { facts: writer.count, deaths, killedAtWork, copies: publications.copies }
  } finally {
    await publications.close()
    await broker.close()
    await database.drop()
  }
}

/** Topics whose partitions do not match, so that facts about a book are with different members. */
async function makeTopics(
  broker: Broker,
  { inputs, published }: ReturnType<typeof booksOf>,
  members: number,
): Promise<void> {
  const topics = inputs.map(({ name }, index) => ({ name, partitions: members + index }))
  await broker.admin.createTopics([...topics, { name: published.name, partitions: 4 }])
}

async function letDie(
  { members, deaths: rounds, seed, signal, tell, ...proof }: GateProof,
  writer: FactWriter,
  publications: Publications,
): Promise<Deaths> {
  const points = crashPointsOf(booksOf(proof.name).service)
  const processes: CrashProcess[] = []
  let died = 0
  const deaths = await crashAgainAndAgain({
    members: startersOf({ members, name: proof.name }, processes),
    points,
    rounds,
    seed,
    async feed() {
      signal?.throwIfAborted()
      await writer.feed()
    },
    async check() {
      for (const { errors } of processes)
        assert.doesNotMatch(errors, /"level":50/, 'no process has reported a failure')
      await publications.check()
      died += 1
      tell?.(`${died} killed; ${publications.books} of ${proof.books} books are out`)
    },
  })
  for (const point of points) {
    const least = Math.floor(rounds / (points.length + 1))
    assert.ok((deaths.get(point) ?? 0) >= least, `died ${deaths.get(point)} times at ${point}`)
  }
  return deaths
}

type Starter = (crash?: Crash) => CrashProcess

function startersOf(
  { members, name }: Pick<GateProof, 'members' | 'name'>,
  started: CrashProcess[] = [],
): readonly Starter[] {
  return Array.from(
    { length: members },
    (_, index): Starter =>
      (crash) => {
        const settings: GateMember = { name, instanceId: `${name}-${index}` }
        const process = new CrashProcess(script, { args: [JSON.stringify(settings)], crash })
        started.push(process)
        return process
      },
  )
}

const script = new URL('./member-process.ts', import.meta.url)
