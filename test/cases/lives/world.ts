import assert from 'node:assert/strict'
import { z } from 'zod'
import { embeddedBroker, sharedMemory } from '../../../src/embedded/index.ts'
import { encodeRecord } from '../../../src/engine/outputs.ts'
import type { ServicesRuntime } from '../../../src/engine/runtime.ts'
import {
  type Capability,
  defineService,
  json,
  type Service,
  text,
  topic,
} from '../../../src/index.ts'
import type { Position } from '../../../src/ports/broker.ts'
import { eventually, ManualClock, memoryStore, within } from '../../../src/testing/index.ts'
import { MemoryStoreData } from '../../../src/testing/memory-store.ts'
import { watchedBroker } from '../../../src/testing/watched-broker.ts'
import { stopsAtFailure } from '../../stops-at-failure.ts'
import { MemoryTable } from '../../testing/transactional-memory-store.ts'
import { faultyStore, type StoreFault } from '../faulty-store.ts'
import { chanceOf, Pump } from '../pump.ts'
import { Life } from './life.ts'
import type { Plan, PlannedLife, PlannedRecord } from './plan.ts'
import { mortalRuntime } from './process.ts'

const Event = z.object({ n: z.number(), version: z.number() })
/** What the effect of a record says: which record it was, and how many its key had before. */
const Result = z.object({ place: z.string(), seen: z.number() })

export const input = topic('input', { key: text, value: json(Event), create: { partitions: 3 } })
export const other = topic('other', { key: text, value: json(Event), create: { partitions: 3 } })
export const output = topic('output', { key: text, value: json(Result), create: { partitions: 2 } })
const topics = [input, other, output]

/** What a handler sees of its own table. */
interface Table {
  readonly written: ReadonlyMap<string, string>
  write(row: string, value: string): void
}

const memoryTable: Capability<Table> = { name: 'memoryTable' }

/** A record that was sent, and where it lies. */
export interface PlacedRecord {
  readonly event: number
  /** `topic/partition/offset` */
  readonly place: string
}

/** A started service. */
interface Process {
  readonly life: Life
  readonly runtime: ServicesRuntime
  /** Why it has stopped; undefined while it runs, or when it died. */
  failure: unknown
}

/** What a handler keeps of its key. */
interface Kept {
  read(): Promise<readonly string[]>
  write(places: readonly string[]): Promise<void>
}

type Handled = { readonly key: string; readonly value: z.infer<typeof Event> } & Position_
interface Position_ {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
}

const placeOf = ({ topic: name, partition, offset }: Position_): string =>
  `${name}/${partition}/${offset}`

/** Everything that outlives processes, and what they did to it. */
export class World {
  readonly plan: Plan
  readonly chance: () => number
  readonly memory = sharedMemory()
  readonly data = new MemoryStoreData()
  readonly table = new MemoryTable()
  readonly placed: PlacedRecord[] = []
  readonly problems: string[] = []
  /** The broker has refused an output: then a later one of its key may be out before it. */
  hasRefused = false
  readonly #ends = new Map<string, number>()

  constructor(plan: Plan) {
    this.plan = plan
    this.chance = chanceOf(plan.seed)
  }

  async open(): Promise<void> {
    await embeddedBroker({ memory: this.memory }).admin.createTopics(
      topics.map(({ name, create }) => ({ name, partitions: create.partitions ?? 1 })),
    )
  }

  async send(records: readonly PlannedRecord[]): Promise<void> {
    const producer = await embeddedBroker({ memory: this.memory }).producer()
    for (const { event, partition: given } of records) {
      const planned = this.plan.events[event]
      assert.ok(planned)
      const { key, isOther, hasId, version } = planned
      const to = isOther ? other : input
      const partition = given ?? key.charCodeAt(0) % 3
      const headers = hasId ? { id: `e${event}` } : {}
      const message = to.message({ key, value: { n: event, version }, headers, partition })
      await producer.send([encodeRecord(message)])
      const end = this.#ends.get(`${to.name}/${partition}`) ?? 0
      this.#ends.set(`${to.name}/${partition}`, end + 1)
      this.placed.push({ event, place: `${to.name}/${partition}/${end}` })
    }
  }

  /** Starts the service in as many processes as planned; over when all is done, or none goes on. */
  async live(planned: PlannedLife, records: readonly PlannedRecord[]): Promise<void> {
    const clock = new ManualClock()
    const pump = new Pump(clock, this.chance)
    const processes: Process[] = []
    try {
      await this.send(records)
      for (const deathAt of planned.deaths) {
        processes.push(this.#start(planned, new Life(deathAt, () => pump.turn()), clock, pump))
        for (let turns = Math.floor(this.chance() * 5); turns > 0; turns -= 1) await pump.turn()
      }
      const isOver = ({ life, failure }: Process): boolean => life.isDead || failure !== undefined
      await eventually(
        'all is settled, or no process goes on',
        async () => processes.every(isOver) || (await this.#isSettled()),
        { deadline: 10_000, every: 1 },
      )
      const left = processes.filter((process) => !isOver(process))
      const ends = left.map(({ runtime, life }) => Promise.race([runtime.stop(), life.death]))
      await within('the end', Promise.all(ends), 20_000)
      for (const { failure, life } of processes)
        if (!life.isDead && failure !== undefined && !`${failure}`.includes('as planned'))
          throw failure
    } finally {
      await pump.stop()
    }
  }

  #start(planned: PlannedLife, life: Life, clock: ManualClock, pump: Pump): Process {
    const broker = watchedBroker(embeddedBroker({ memory: this.memory, clock }), {
      committing: (positions) => this.#checkCommit(positions),
    })
    const lastWords = watchedBroker(embeddedBroker({ memory: this.memory, clock }), {
      refusing: ({ value }) => this.#refusal(planned, value),
      publishing: () => (this.chance() < 0.5 ? pump.turn() : undefined),
    })
    const store = faultyStore(this.table.join(memoryStore(this.data, clock)), () => this.#fault())
    const runtime = mortalRuntime({
      service: this.#service(planned, life, pump),
      broker,
      lastWords,
      store,
      clock,
      life,
      options: { bufferMessages: this.plan.buffer, drainTimeout: '1h', stopTimeout: '2h' },
    })
    const process: Process = { life, runtime, failure: undefined }
    const failed = (error: unknown): void => {
      process.failure = error
    }
    runtime.done.catch(failed)
    runtime.start().catch(failed)
    return process
  }

  #service(planned: PlannedLife, life: Life, pump: Pump): Service {
    const { by, keeps, publish, concurrency } = this.plan
    const definition = {
      ...stopsAtFailure,
      inputs: [input, other],
      outputs: [output],
      publish,
      concurrency,
    } as const
    const idempotency =
      by === 'version'
        ? { by, of: (message: { value: z.infer<typeof Event> }) => message.value.version }
        : { by }
    const handle = async (message: Handled, kept: Kept) => {
      const wait = async (): Promise<void> => {
        if (this.chance() * 100 >= this.plan.sync) await pump.turn()
        await life.goOn()
      }
      await wait()
      const before = await kept.read()
      await wait()
      if (!planned.isRefused && message.value.n === planned.failing) throw new Error('as planned')
      const place = placeOf(message)
      await kept.write([...before, place])
      await wait()
      return output.message({ key: message.key, value: { place, seen: before.length } })
    }
    if (keeps === 'state') {
      return defineService('living', {
        ...definition,
        idempotency,
        state: json(z.array(z.string())),
        handle: (message, { state }) =>
          handle(message, {
            read: async () => (await state.get()) ?? [],
            write: (places) => state.put([...places]),
          }),
      })
    }
    if (keeps === 'nothing') {
      return defineService('living', {
        ...definition,
        handle: (message) => handle(message, { read: async () => [], write: async () => {} }),
      })
    }
    return defineService('living', {
      ...definition,
      idempotency,
      uses: { db: memoryTable },
      handle: (message, { db }) => handle(message, this.#rowOf(message, db)),
    })
  }

  /** A row has one writer: keys that lie in several partitions have several rows. */
  #rowOf({ key, topic: name, partition }: Handled, db: Table): Kept {
    const row = `${key} of ${name}/${partition}`
    return {
      read: async () => JSON.parse(db.written.get(row) ?? this.table.rows.get(row) ?? '[]'),
      write: async (places) => db.write(row, JSON.stringify(places)),
    }
  }

  #fault(): StoreFault | undefined {
    if (this.chance() * 100 >= this.plan.trouble) return undefined
    const faults: readonly StoreFault[] = [
      'unreachable',
      'lost answer',
      'conflict',
      'fenced',
      'taken over',
    ]
    return faults[Math.floor(this.chance() * faults.length)]
  }

  #refusal({ isRefused, failing }: PlannedLife, value: Buffer | null): Error | undefined {
    const { place } = Result.parse(JSON.parse(value?.toString() ?? ''))
    const event = this.placed.find((one) => one.place === place)?.event
    if (!isRefused || event !== failing) return undefined
    this.hasRefused = true
    return new Error('as planned')
  }

  #checkCommit(positions: readonly Position[]): void {
    if (this.plan.keeps === 'nothing') return
    for (const { topic: name, partition, offset } of positions) {
      const row = this.data.ledger.get(JSON.stringify(['living', name, partition]))
      if (offset > (row?.next ?? 0))
        this.problems.push(
          `the group has ${offset} of ${name}/${partition}, the ledger ${row?.next}`,
        )
    }
  }

  /** The group has the ends of the logs, and the store has no outputs left. */
  async #isSettled(): Promise<boolean> {
    if ([...this.data.ledger.values()].some((row) => row.unpublished.length > 0)) return false
    const { admin } = embeddedBroker({ memory: this.memory })
    const { offsets } = await admin.group('living')
    return [...this.#ends].every(([partition, end]) =>
      offsets.some((one) => `${one.topic}/${one.partition}` === partition && one.offset === end),
    )
  }
}
