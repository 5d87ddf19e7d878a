import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { encodeRecord } from '../../src/engine/outputs.ts'
import {
  defineService,
  json,
  type Message,
  type OutputMessage,
  PolluxError,
  type Service,
  text,
  topic,
} from '../../src/index.ts'
import { ManualClock, memoryStore, testRuntime } from '../../src/testing/index.ts'
import { MemoryStoreData } from '../../src/testing/memory-store.ts'
import { watchedBroker } from '../../src/testing/watched-broker.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { faultyStore, type StoreFault } from './faulty-store.ts'
import { chanceOf, Pump } from './pump.ts'

const Number_ = z.object({ n: z.number() })
const input = topic('input', { key: text, value: json(Number_), create: { partitions: 3 } })
const other = topic('other', { key: text, value: json(Number_), create: { partitions: 2 } })
const output = topic('output', { key: text, value: json(Number_), create: { partitions: 2 } })

interface Plan {
  readonly seed: number
  readonly messages: readonly { readonly key: string; readonly isOther: boolean }[]
  readonly order: 'key' | 'partition' | 'none'
  readonly concurrency: number
  readonly hasState: boolean
  readonly buffer: number
  /** How often a handler returns at once, in percent. */
  readonly sync: number
  /** The message that fails in each of the first runs, by its handler or by the broker; none when it is not there. */
  readonly failing: readonly number[]
  readonly isRefused: boolean
  /** How often a call of the store goes wrong, in percent. */
  readonly trouble: number
}

const plans: fc.Arbitrary<Plan> = fc
  .record({
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    messages: fc.array(
      fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), isOther: fc.boolean() }),
      {
        minLength: 1,
        maxLength: 60,
      },
    ),
    order: fc.constantFrom('key' as const, 'key' as const, 'partition' as const, 'none' as const),
    concurrency: fc.constantFrom(1, 2, 3, 8, 64),
    hasState: fc.boolean(),
    buffer: fc.constantFrom(1, 4, 10_000),
    sync: fc.constantFrom(0, 50, 100),
    failing: fc.array(fc.nat(90), { maxLength: 4 }),
    isRefused: fc.boolean(),
    trouble: fc.constantFrom(0, 5, 25),
  })
  .map((plan) => (plan.hasState ? { ...plan, order: 'key' as const } : plan))

/** All that a test has to know of one message: its place and what became of it. */
const placeOf = ({
  topic: name,
  partition,
  offset,
}: {
  topic: string
  partition: number
  offset: number | bigint
}): string => `${name}/${partition}/${offset}`

/** One run after the other over the same broker and store, with everything checked that can be seen from outside. */
class World {
  readonly plan: Plan
  readonly chance: () => number
  readonly memory = sharedMemory()
  readonly data = new MemoryStoreData()
  readonly running = new Set<string>()
  readonly started = new Map<string, string[]>()
  /** Places whose handler has returned. */
  readonly finished = new Set<string>()
  readonly problems: string[] = []
  /** The message that fails now. */
  failing: number | undefined
  hasRefused = false

  constructor(plan: Plan) {
    this.plan = plan
    this.chance = chanceOf(plan.seed)
  }

  laneOf(message: Message<string>): string | undefined {
    const { order, hasState } = this.plan
    if (order === 'none') return undefined
    const place = hasState ? '' : `${message.topic}/${message.partition}`
    return order === 'key' ? `${place} ${message.key}` : place
  }

  service(pump: () => Pump): Service {
    const { plan } = this
    const fails = (n: number): boolean => !plan.isRefused && n === this.failing
    const definition = {
      inputs: [input, other],
      outputs: [output],
      order: plan.order,
      concurrency: plan.concurrency,
    } as const
    const isSync = (): boolean => this.chance() * 100 < plan.sync
    if (!plan.hasState) {
      return defineService('counting', {
        ...stopsAtFailure,
        ...definition,
        handle: (message) => {
          const leave = this.#enter(message)
          const finish = () => {
            leave(!fails(message.value.n))
            if (fails(message.value.n)) throw new Error('as planned')
            return output.message({ key: message.key, value: message.value })
          }
          return isSync() ? finish() : pump().turn().then(finish)
        },
      })
    }
    return defineService('counting', {
      ...stopsAtFailure,
      ...definition,
      state: json(Number_),
      handle: async (message, { state }) => {
        const leave = this.#enter(message)
        let isGood = false
        try {
          if (!isSync()) await pump().turn()
          const count = await state.get()
          if (!isSync()) await pump().turn()
          await state.put({ n: (count?.n ?? 0) + 1 })
          if (!isSync()) await pump().turn()
          if (fails(message.value.n)) throw new Error('as planned')
          isGood = true
          return output.message({ key: message.key, value: message.value })
        } finally {
          leave(isGood)
        }
      },
    })
  }

  #enter(message: Message<string>): (isGood: boolean) => void {
    const lane = this.laneOf(message)
    const place = placeOf(message)
    if (lane !== undefined) {
      if (this.running.has(lane)) this.problems.push(`two handlers at once in lane ${lane}`)
      this.running.add(lane)
      this.started.set(lane, [...(this.started.get(lane) ?? []), place])
    }
    return (isGood) => {
      if (lane !== undefined) this.running.delete(lane)
      if (isGood) this.finished.add(place)
    }
  }

  #fault(): StoreFault | undefined {
    if (!this.plan.hasState || this.chance() * 100 >= this.plan.trouble) return undefined
    const faults: readonly StoreFault[] = [
      'unreachable',
      'lost answer',
      'conflict',
      'fenced',
      'taken over',
    ]
    return faults[Math.floor(this.chance() * faults.length)]
  }

  /** Runs until all is handled, or a planned failure has stopped it. */
  async run(messages: readonly OutputMessage[]): Promise<boolean> {
    const clock = new ManualClock()
    const pump = new Pump(clock, this.chance)
    const broker = watchedBroker(embeddedBroker({ memory: this.memory, clock }), {
      committing: (positions) => this.#checkCommit(positions),
      refusing: ({ value }) => {
        const { n } = JSON.parse(value?.toString() ?? '{}') as { n: number }
        if (!this.plan.isRefused || n !== this.failing) return undefined
        this.hasRefused = true
        return new Error('as planned')
      },
      publishing: () => (this.chance() < 0.5 ? pump.turn() : undefined),
    })
    const store = faultyStore(memoryStore(this.data), () => this.#fault())
    const runtime = await testRuntime(
      this.service(() => pump),
      {
        clock,
        broker,
        store,
        bufferMessages: this.plan.buffer,
        drainTimeout: '1h',
        stopTimeout: '2h',
      },
    )
    try {
      const sender = await embeddedBroker({ memory: this.memory }).producer()
      for (const message of messages) await sender.send([encodeRecord(message)])
      await runtime.settled()
      await runtime.stop()
      return true
    } catch (error) {
      if (!PolluxError.is(error) || !error.message.includes('as planned')) throw error
      await runtime.stop().catch(() => {})
      return false
    } finally {
      await pump.stop()
    }
  }

  #checkCommit(positions: readonly { topic: string; partition: number; offset: number }[]): void {
    for (const { topic: name, partition, offset } of positions) {
      for (let before = 0; before < offset; before += 1) {
        if (this.finished.has(placeOf({ topic: name, partition, offset: before }))) continue
        this.problems.push(
          `committed ${offset} of ${name}/${partition}, but ${before} is not finished`,
        )
        return
      }
    }
  }

  /** What was sent, by topic and key, in order. */
  async outputs(): Promise<{ readonly key: string; readonly n: number }[]> {
    const broker = embeddedBroker({ memory: this.memory })
    const ranges = await broker.admin.ranges([output.name])
    const reader = await broker.reader(
      ranges.map(({ topic: name, partition }) => ({ topic: name, partition, offset: 0 })),
    )
    const wanted = ranges.reduce((sum, { latest }) => sum + latest, 0)
    const found: { key: string; n: number }[] = []
    while (found.length < wanted) {
      for (const { key, value } of await reader.poll(1_000)) {
        found.push({
          key: key?.toString() ?? '',
          n: (JSON.parse(value?.toString() ?? '') as { n: number }).n,
        })
      }
    }
    await reader.close()
    return found
  }
}

async function check(plan: Plan): Promise<void> {
  const world = new World(plan)
  const messages: OutputMessage[] = plan.messages.map(({ key, isOther }, n) =>
    (isOther ? other : input).message({ key, value: { n } }),
  )
  for (const [round, failing] of [...plan.failing, undefined].entries()) {
    world.failing = failing
    world.running.clear()
    const isDone = await world.run(round === 0 ? messages : [])
    const mustFail = failing !== undefined && failing < messages.length
    // Later on, that message may have been handled before.
    if (round === 0) assert.equal(isDone, !mustFail, 'it stops if and only if a message fails')
    else if (!mustFail) assert.ok(isDone, 'it goes on after a restart')
  }
  assert.deepEqual(world.problems, [])
  checkFirstStarts(world)
  await checkOutputs(world)
  if (!plan.hasState) return
  for (const key of new Set(plan.messages.map((message) => message.key))) {
    const row = world.data.states.get(
      JSON.stringify(['counting', Buffer.from(key).toString('base64')]),
    )
    const count = plan.messages.filter((message) => message.key === key).length
    assert.deepEqual(JSON.parse(row?.value?.toString() ?? 'null'), { n: count }, `state of ${key}`)
  }
}

function checkFirstStarts({ started, plan }: World): void {
  for (const [lane, places] of started) {
    const firsts = [...new Set(places)]
    for (const from of new Set(firsts.map((place) => place.slice(0, place.lastIndexOf('/'))))) {
      const offsets = firsts
        .filter((place) => place.startsWith(`${from}/`))
        .map((place) => Number(place.slice(from.length + 1)))
      assert.deepEqual(
        offsets,
        offsets.toSorted((a, b) => a - b),
        `order of ${lane} from ${from}, ${plan.order}`,
      )
    }
  }
}

async function checkOutputs(world: World): Promise<void> {
  const { messages, order } = world.plan
  const outputs = await world.outputs()
  assert.equal(
    new Set(outputs.map(({ n }) => n)).size,
    messages.length,
    'each message has its output',
  )
  // What was sent before the broker refused an earlier one of its key cannot be taken back.
  if (order === 'none' || world.hasRefused) return
  for (const isOther of [true, false]) {
    for (const key of new Set(messages.map((message) => message.key))) {
      const firsts = [...new Set(outputs.filter((one) => one.key === key).map(({ n }) => n))]
      const own = firsts.filter((n) => messages[n]?.isOther === isOther)
      assert.deepEqual(
        own,
        own.toSorted((a, b) => a - b),
        `order of outputs of ${key}`,
      )
    }
  }
}

test('whatever the schedule: order within a lane, no commit past unfinished work, nothing lost, state exact', async () => {
  const runs = Number(process.env['POLLUX_SCHEDULES'] ?? 150)
  await fc.assert(fc.asyncProperty(plans, check), {
    numRuns: runs,
    interruptAfterTimeLimit: 90_000,
    markInterruptAsFailure: true,
  })
})
