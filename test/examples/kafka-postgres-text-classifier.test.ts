import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { classify } from '../../examples/text-classifier/classify.ts'
import { labelled } from '../../examples/text-classifier/labelled.ts'
import type { Behaviour, Call } from '../../examples/text-classifier/model.ts'
import { labels, labelTickets, tickets } from '../../examples/text-classifier/services.ts'
import { type OutputMessage, run, type Service } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { CrashProcess, eventually, messagesOf, sendTo } from '../../src/testing/index.ts'
import { connection, keepingLogger, makeTopic, uniqueName } from '../kafka/support.ts'
import { address, ask, freshName } from '../postgres/server.ts'

const example = (file: string): URL =>
  new URL(`../../examples/text-classifier/${file}`, import.meta.url)

/** The model's process. */
class Model {
  readonly process: CrashProcess
  readonly address: string

  private constructor(process: CrashProcess, url: string) {
    this.process = process
    this.address = url
  }

  /** It ends with the test. */
  static async start(t: TestContext, port = ''): Promise<Model> {
    const process = new CrashProcess(example('model.ts'), { args: [port] })
    t.after(() => process.kill())
    return new Model(process, await process.says(/^http/))
  }

  async behave(behaviours: readonly Behaviour[]): Promise<void> {
    await fetch(`${this.address}/behave`, { method: 'POST', body: JSON.stringify(behaviours) })
  }

  async calls(): Promise<readonly Call[]> {
    return (await (await fetch(`${this.address}/calls`)).json()) as Call[]
  }
}

// The example's topics and group under names that nobody else has on this Kafka.
const broker = connection()
await broker.connect()
const input = { ...tickets, name: await makeTopic(broker, uniqueName('tickets'), 4) } as const
const output = { ...labels, name: await makeTopic(broker, uniqueName('labels'), 4) } as const
const group = uniqueName('label-tickets')
const schema = freshName()
after(async () => {
  await broker.close()
  await ask(`drop schema if exists ${schema} cascade`)
})

function renamed(service: Service): Service {
  return {
    ...service,
    name: group,
    inputs: [input],
    outputs: [output],
    handle: async (message: never, context: never) => ({
      ...((await service.handle?.(message, context)) as OutputMessage),
      topic: output,
    }),
  }
}

/** A member of the group, with a breaker, a cache and a log of its own. */
async function startMember(model: string) {
  const { lines, logger } = keepingLogger()
  const runtime = await run(renamed(labelTickets(model)), {
    broker: connection({ sessionTimeout: '6s', pollLimit: '6s' }),
    store: postgres({ connectionString: address(), schema }),
    logger,
    signals: false,
  })
  return { runtime, lines }
}

interface Ticket {
  readonly key: string
  readonly text: string
  readonly revision: number
  readonly partition?: number
}
const sent: Ticket[] = []

async function send(...list: readonly Ticket[]): Promise<void> {
  sent.push(...list)
  const messages = list.map(({ key, partition, ...value }) =>
    tickets.message({ key, value, ...(partition === undefined ? {} : { partition }) }),
  )
  await sendTo(broker, ...messages.map((message) => ({ ...message, topic: input })))
}

const texts = Object.values(labelled).flat()

/** Tickets of which no two are the same. */
function newTickets(count: number): Ticket[] {
  return Array.from({ length: count }, (_, index) => {
    const number = sent.length + index
    return { key: `t${number}`, text: `${texts[number % 25]} Order ${number}.`, revision: 1 }
  })
}

const named = ({ key, revision }: Pick<Ticket, 'key' | 'revision'>): string => `${key}/${revision}`

/** Which tickets have their labels. */
async function labelledTickets(): Promise<string[]> {
  const found = await messagesOf(broker, output)
  return found.map(({ key, value }) => named({ key, revision: value.revision }))
}

async function allLabelled(list: readonly Ticket[] = sent): Promise<void> {
  const isDone = async (): Promise<boolean> => {
    const found = new Set(await labelledTickets())
    return list.every((ticket) => found.has(named(ticket)))
  }
  await eventually('all have labels', isDone, { every: 50 })
}

test('cases 12 and 50: whatever the model does, each ticket has its label once, and nobody leaves the group', async (t) => {
  const first = await Model.start(t)
  const members = await Promise.all([startMember(first.address), startMember(first.address)])
  t.after(() => Promise.all(members.map(({ runtime }) => runtime.stop())))
  const ownersOf = async () => (await broker.admin.group(group)).members
  const owners = await eventually('each has two partitions', async () => {
    const found = await ownersOf()
    return found.length === 2 && found.every(({ partitions }) => partitions.length === 2) && found
  })
  const linesOf = (pattern: RegExp): number =>
    members.flatMap(({ lines }) => lines).filter((line) => pattern.test(line)).length
  const movesOf = (): number => linesOf(/^error|partitions (assigned|given up|lost)/)
  const own = (name: string): number =>
    members.reduce((sum, { runtime }) => sum + (runtime.counts[0]?.own[name] ?? 0), 0)
  await send(...newTickets(20))
  await allLabelled()
  const moves = movesOf()

  await first.behave([
    { status: 429, retryAfter: 1 },
    { status: 429, retryAfter: 2, asDate: true },
    ...Array.from({ length: 4 }, () => ({ status: 503 })),
    { delay: 5_000 },
  ])
  await send(...newTickets(150))
  await allLabelled()
  const calls = await first.calls()
  for (const [index, { at, texts: asked, status }] of calls.entries()) {
    if (status !== 429) continue
    const next = calls.slice(index + 1).find((call) => call.texts.includes(asked[0] ?? ''))
    // Two seconds by a date, which has whole ones, are one at least.
    assert.ok(next !== undefined && next.at >= at + 1_000, `${next?.at} after ${at}`)
  }
  assert.ok(own('opened') > 0, 'the breaker has opened')
  assert.ok(own('overloads') > 1 && own('failures') > 0)

  // It is killed with calls under way; one of them is about the first revision of a ticket.
  const [here, there] = owners.map(({ partitions }) => partitions[0]?.partition)
  assert.ok(here !== undefined && there !== undefined)
  const known = { key: 'known', text: 'Where is my parcel?', revision: 1, partition: there }
  await send(known)
  await allLabelled()
  await first.behave(Array.from({ length: 1_000 }, () => ({ delay: 900 })))
  const old = { key: 'edited', text: 'I forgot my password.', revision: 1, partition: here }
  await send(old, ...newTickets(60))
  await eventually('it is asked about', async () =>
    (await first.calls()).some((call) => call.texts.includes(old.text)),
  )
  await first.process.kill()
  // What is known needs no model: the same text again, and the next revision, by the other member.
  const again = sent.slice(0, 10).map((ticket) => ({ ...ticket, revision: 2 }))
  const edited = { ...known, key: 'edited', revision: 2 }
  await send(...again, edited)
  await allLabelled([...again, edited])
  sent.splice(sent.indexOf(old), 1)
  await Model.start(t, new URL(first.address).port)
  await allLabelled()
  await eventually('the old result is rejected', () =>
    members.some(({ runtime }) => runtime.counts[0]?.stale === 1),
  )

  const found = await messagesOf(broker, output)
  assert.deepEqual((await labelledTickets()).toSorted(), sent.map(named).toSorted())
  assert.equal(new Set(found.map(({ id }) => id)).size, sent.length)
  const subjects = new Map(sent.map((ticket) => [named(ticket), classify(ticket.text)]))
  for (const { key, value } of found) {
    const { revision, ...label } = value
    assert.deepEqual(label, subjects.get(named({ key, revision })))
  }
  assert.equal(own('cached'), 11)
  await eventually(
    'the breakers are closed again',
    () => linesOf(/the called service fails/) === linesOf(/the called service works again/),
  )
  assert.deepEqual(await ownersOf(), owners)
  assert.equal(movesOf(), moves)
})

test('the classifier is right about tickets that it has not learned', () => {
  const others = {
    delivery: 'The courier never came with the shipment.',
    payment: 'You charged my card two times for the same order.',
    return: 'I would like to return the boots, they are too small.',
    account: 'Please delete my profile.',
    defect: 'The toaster broke, it does not work any more.',
    unclear: 'Hello?',
  }
  for (const [subject, text] of Object.entries(others))
    assert.equal(classify(text).subject, subject)
})

test('the example runs', async () => {
  const main = new CrashProcess(example('main.ts'))
  assert.equal(await main.ended(), 0, main.errors)
  assert.deepEqual(
    main.lines
      .filter((line) => line.startsWith('ticket'))
      .toSorted()
      .map((line) => line.split(' ')[2]),
    ['delivery', 'payment', 'return', 'account', 'defect'],
  )
})
