import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CrashMoment, crashOutcomes } from '../src/crash-outcomes.ts'
import { milliseconds } from '../src/duration.ts'
import { embeddedBroker, sharedMemory } from '../src/embedded/index.ts'
import { defineService, run, type Service, text, topic } from '../src/index.ts'
import type { Broker, GroupListener, GroupMember } from '../src/ports/broker.ts'
import { silent } from '../src/ports/logger.ts'
import type { Store } from '../src/ports/store.ts'
import { eventually, within } from '../src/testing/eventually.ts'
import { ManualClock } from '../src/testing/manual-clock.ts'
import { MemoryStoreData, memoryStore } from '../src/testing/memory-store.ts'
import { storeOver } from '../src/testing/store-over.ts'
import { testRuntime } from '../src/testing/test-runtime.ts'

// The tables of `pollux explain`, held against services that stop for ever at each of their moments. That processes
// which are killed there do the same on Kafka and PostgreSQL is shown in test/guarantees.

const input = topic('in', { key: text, value: text })
const output = topic('out', { key: text, value: text })

let handled = 0
const both = { inputs: [input], outputs: [output] } as const
const noOutputs = { inputs: [input] } as const

function copy({ key, value }: { readonly key: string; readonly value: string }) {
  handled += 1
  return output.message({ key, value })
}

function count(): void {
  handled += 1
}

const services: Readonly<Record<string, Service>> = {
  'without a store': defineService('copy', { ...both, handle: copy }),
  'without a store and without outputs': defineService('count', { ...noOutputs, handle: count }),
  'with an outbox': defineService('copy', { ...both, publish: 'outbox', handle: copy }),
  'with an outbox, by event id': defineService('copy', {
    ...both,
    idempotency: { by: 'event-id' },
    handle: copy,
  }),
  'publishing directly': defineService('copy', {
    ...both,
    idempotency: { by: 'offset' },
    publish: 'direct',
    handle: copy,
  }),
  'with a store and without outputs': defineService('count', {
    ...noOutputs,
    idempotency: { by: 'offset' },
    handle: count,
  }),
  'by version, without a ledger': defineService('count', {
    ...noOutputs,
    idempotency: { by: 'version', of: () => 1 },
    fencing: false,
    handle: count,
  }),
  'by word, without a ledger': defineService('count', {
    ...noOutputs,
    state: text,
    idempotency: 'natural',
    fencing: false,
    async handle(_, { state }) {
      count()
      await state.put('x')
    },
  }),
}

/** A process that stops at a moment and never does anything again. */
class Mortal {
  readonly #moment: CrashMoment
  readonly #died = Promise.withResolvers<void>()
  #isDead = false

  constructor(moment: CrashMoment) {
    this.#moment = moment
  }

  get death(): Promise<void> {
    return this.#died.promise
  }

  /** Nothing comes back from what is asked of others from now on. */
  #die(): void {
    this.#isDead = true
    this.#died.resolve()
  }

  /** Does something, unless it is dead before, and hears of it, unless it is dead then. */
  async #ask<T>(action: () => Promise<T>, before: boolean, after: () => boolean): Promise<T> {
    if (before) this.#die()
    if (this.#isDead) return forever
    const answer = await action()
    if (after()) this.#die()
    return this.#isDead ? forever : answer
  }

  broker(real: Broker): Broker {
    return {
      name: real.name,
      admin: real.admin,
      connect: () => real.connect(),
      reader: (from) => real.reader(from),
      close: () => real.close(),
      join: async (subscription, listener) =>
        this.#member(await real.join(subscription, this.#listener(listener))),
      producer: async () => {
        const producer = await real.producer()
        return {
          check: (record) => producer.check(record),
          close: () => producer.close(),
          send: async (records) => {
            const answer = await this.#ask(
              () => producer.send(records),
              this.#moment === 'handled',
              () => this.#moment === 'published',
            )
            // It hears of this, and of nothing after it.
            if (this.#moment === 'acknowledged') this.#die()
            return answer
          },
        }
      },
    }
  }

  #listener(listener: GroupListener): GroupListener {
    return {
      assigned: (partitions) => listener.assigned(partitions),
      revoked: async (partitions) => (this.#isDead ? undefined : listener.revoked(partitions)),
      lost: (partitions) => (this.#isDead ? undefined : listener.lost(partitions)),
    }
  }

  #member(real: GroupMember): GroupMember {
    let polled = 0
    return {
      pause: (partitions) => real.pause(partitions),
      resume: (partitions) => real.resume(partitions),
      seek: (positions) => real.seek(positions),
      leave: () => real.leave(),
      poll: (max) =>
        this.#ask(
          async () => {
            const records = await real.poll(max)
            polled += records.length
            return records
          },
          false,
          () => this.#moment === 'polled' && polled > 0,
        ),
      commit: (positions) => {
        // The first commit is that of the start.
        const isPast = positions.some(({ offset }) => offset > 0)
        return this.#ask(
          () => real.commit(positions),
          this.#moment === 'handled' && isPast,
          () => this.#moment === 'committed' && isPast,
        )
      },
    }
  }

  store(real: Store): Store {
    return storeOver(real, {
      commit: (unit) =>
        this.#ask(
          () => real.commit(unit),
          this.#moment === 'handled',
          () => this.#moment === 'stored',
        ),
      acknowledge: (...given) =>
        this.#ask(
          () => real.acknowledge(...given),
          false,
          () => false,
        ),
    })
  }
}

const forever = new Promise<never>(() => {})

/** Whether the handler runs again when its process has died at this moment; how many outputs there are in the end. */
async function dieAndGoOn(
  service: Service,
  moment: CrashMoment,
): Promise<{ readonly isHandledAgain: boolean; readonly outputs: number }> {
  const memory = sharedMemory()
  const data = new MemoryStoreData()
  const clock = new ManualClock()
  const mortal = new Mortal(moment)
  const broker = embeddedBroker({ memory, clock })
  const dead = await run(service, {
    broker: mortal.broker(broker),
    store: mortal.store(memoryStore(data, clock)),
    clock,
    logger: silent,
    signals: false,
    createTopics: true,
    commitInterval: 0,
  })
  dead.done.catch(() => {})
  const producer = await broker.producer()
  const headers = [{ name: 'id', value: Buffer.from('event') }]
  await producer.send([
    {
      topic: 'in',
      partition: 0,
      key: Buffer.from('k'),
      value: Buffer.from('v'),
      headers,
      timestamp: undefined,
    },
  ])
  await within(`it dies when ${moment}`, mortal.death, 10_000)
  await broker.close()

  handled = 0
  const next = { broker: embeddedBroker({ memory, clock }), store: memoryStore(data, clock), clock }
  await using runtime = await testRuntime(service, next)
  await runtime.settled()
  const outputs = service.outputs.length === 0 ? 0 : (await runtime.messages(output)).length
  const isHandledAgain = handled > 0
  void dead.stop().catch(() => {})
  await clock.advance(milliseconds('1d'))
  await eventually('the dead one is given up', () =>
    dead.done.then(
      () => true,
      () => true,
    ),
  )
  return { isHandledAgain, outputs }
}

for (const [title, service] of Object.entries(services)) {
  for (const { moment, isHandledAgain } of crashOutcomes(service)) {
    const again = isHandledAgain ? 'handled again' : 'not handled again'
    test(`a message of a service ${title} is ${again} after a crash when ${moment}`, async () => {
      const found = await dieAndGoOn(service, moment)
      assert.equal(found.isHandledAgain, isHandledAgain)
      if (service.outputs.length > 0) assert.ok(found.outputs >= 1, 'its output is lost')
    })
  }
}
