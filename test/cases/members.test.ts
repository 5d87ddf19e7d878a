import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { encodeRecord } from '../../src/engine/outputs.ts'
import { defineService, type Logger, type Runtime, run, text, topic } from '../../src/index.ts'
import { eventually, memoryStore, within } from '../../src/testing/index.ts'
import { MemoryStoreData } from '../../src/testing/memory-store.ts'
import { watchedBroker } from '../../src/testing/watched-broker.ts'
import { chanceOf } from './pump.ts'

const input = topic('input', { key: text, value: text })
const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const partitions = 4

/** The order of a service without state, or one with state. */
type Kind = 'partition' | 'key' | 'state'

/** What the handlers of all members did. */
class Record_ {
  readonly #running = new Map<string, number>()
  readonly starts = new Map<string, number[]>()
  readonly problems: string[] = []

  /** Returns what to call at the end. */
  enter(key: string, n: number, member: number): () => void {
    const other = this.#running.get(key)
    if (other !== undefined) this.problems.push(`members ${other} and ${member} had ${key} at once`)
    this.#running.set(key, member)
    this.starts.set(key, [...(this.starts.get(key) ?? []), n])
    return () => this.#running.delete(key)
  }
}

async function comeAndGo(seed: number, kind: Kind): Promise<void> {
  const hasState = kind === 'state'
  const chance = chanceOf(seed)
  const memory = sharedMemory()
  const data = new MemoryStoreData()
  const seen = new Record_()
  const admin = embeddedBroker({ memory }).admin
  await admin.createTopics([{ name: 'input', partitions }])
  const service = (member: number) => {
    const handled = async (key: string, value: string): Promise<void> => {
      const leave = seen.enter(key, Number(value), member)
      for (let turns = Math.floor(chance() * 4); turns > 0; turns -= 1)
        await new Promise((resolve) => setImmediate(resolve))
      leave()
    }
    if (!hasState) {
      return defineService('shared', {
        inputs: [input],
        order: kind,
        handle: ({ key, value }) => handled(key, value),
      })
    }
    return defineService('shared', {
      inputs: [input],
      state: text,
      async handle({ key, value }, { state }) {
        await state.put(`${Number((await state.get()) ?? 0) + 1}`)
        await handled(key, value)
      },
    })
  }
  let joined = 0
  const join = async (): Promise<Runtime> => {
    joined += 1
    return await run(service(joined), {
      broker: embeddedBroker({ memory }),
      ...(hasState ? { store: memoryStore(data) } : {}),
      logger: silent,
      signals: false,
      commitInterval: 1,
      bufferMessages: 1 + Math.floor(chance() * 50),
    })
  }
  const producer = await embeddedBroker({ memory }).producer()
  let sent = 0
  const members: Runtime[] = [await join()]
  for (let round = 0; round < 12; round += 1) {
    const messages = Array.from({ length: 40 }, () => {
      const key = `k${Math.floor(chance() * 12)}`
      sent += 1
      return input.message({ key, value: `${sent}` })
    })
    await producer.send(messages.map(encodeRecord))
    for (let turns = Math.floor(chance() * 30); turns > 0; turns -= 1)
      await new Promise((resolve) => setImmediate(resolve))
    if (members.length < 3 && chance() < 0.6) members.push(await join())
    else if (members.length > 1) {
      const [leaving] = members.splice(Math.floor(chance() * members.length), 1)
      assert.equal(
        (await within('leaving', leaving?.stop() ?? Promise.reject(new Error('none')), 10_000))
          .outcome,
        'drained',
      )
    }
  }
  await eventually(
    'all is committed',
    async () => {
      const { offsets } = await admin.group('shared')
      return offsets.reduce((sum, { offset }) => sum + offset, 0) === sent
    },
    { deadline: 15_000 },
  )
  for (const member of members)
    assert.equal((await within('the end', member.stop(), 10_000)).outcome, 'drained')
  assert.deepEqual(seen.problems, [])
  const all = [...seen.starts.values()].flat()
  assert.equal(new Set(all).size, sent, 'each message was handled')
  // Keys overtake each other: without a store, what finished above an unfinished message is handled again.
  if (kind !== 'key') assert.equal(all.length, sent, 'and, as each member left in peace, once')
  for (const [key, numbers] of seen.starts) {
    const firsts = [...new Set(numbers)]
    assert.deepEqual(
      firsts,
      firsts.toSorted((a, b) => a - b),
      `order of ${key}`,
    )
  }
  if (!hasState) return
  for (const [key, numbers] of seen.starts) {
    const row = data.states.get(JSON.stringify(['shared', Buffer.from(key).toString('base64')]))
    assert.equal(row?.value?.toString(), `${new Set(numbers).size}`, `state of ${key}`)
  }
}

const titles: Readonly<Record<Kind, string>> = {
  partition: 'in the order of partitions: each message once, by one at a time',
  key: 'in the order of keys: no message is lost, and a key is with one at a time',
  state: 'with state: each message once, in order, by one at a time',
}

for (const kind of ['partition', 'key', 'state'] as const) {
  test(`members come and go while messages flow ${titles[kind]}`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 }), (seed) => comeAndGo(seed, kind)),
      { numRuns: 15, endOnFailure: true },
    )
  })
}

test('case 8: once a partition is wanted back, what runs is finished and committed, and nothing more of it is started', async () => {
  const memory = sharedMemory()
  const admin = embeddedBroker({ memory }).admin
  await admin.createTopics([{ name: 'input', partitions: 2 }])
  const producer = await embeddedBroker({ memory }).producer()
  const messages = Array.from({ length: 20 }, (_, n) =>
    input.message({ key: `k${n}`, value: `${n}`, partition: n % 2 }),
  )
  await producer.send(messages.map(encodeRecord))
  const handled: string[] = []
  let go = (): void => {}
  const open = new Promise<void>((resolve) => (go = resolve))
  let revoked: number | undefined
  const member = (name: string) =>
    run(
      defineService('shared', {
        inputs: [input],
        order: 'partition',
        async handle({ partition, value }) {
          handled.push(`${name} ${partition}/${value}`)
          await open
        },
      }),
      {
        broker: watchedBroker(embeddedBroker({ memory }), {
          revoking: ([first]) => {
            revoked ??= first?.partition
          },
        }),
        logger: silent,
        signals: false,
      },
    )
  const first = await member('first')
  await eventually('both partitions are at work', () => handled.length === 2)
  const second = await member('second')
  await eventually('a partition is wanted back', () => revoked !== undefined)
  go()
  await eventually('all is committed', async () => {
    const { offsets } = await admin.group('shared')
    return offsets.reduce((sum, { offset }) => sum + offset, 0) === 20
  })
  const own = handled.filter((one) => one.startsWith(`first ${revoked}/`))
  assert.equal(own.length, 1, 'the first has started nothing more')
  assert.equal(handled.length, 20, 'and what it had running was not handled again')
  await Promise.all([first.stop(), second.stop()])
})
