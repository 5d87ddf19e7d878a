import assert from 'node:assert/strict'
import { test } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import {
  type Capability,
  defineService,
  type Message,
  type MessageResult,
  PolluxError,
  type Service,
  text,
  topic,
} from '../../src/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { eventually, ManualClock, memoryStore, testRuntime } from '../../src/testing/index.ts'
import { storeOver } from '../../src/testing/store-over.ts'
import { unreachable } from '../cases/faulty-store.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import { MemoryTable } from '../testing/transactional-memory-store.ts'
import { kept } from './kept.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 2 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

interface Table {
  readonly written: ReadonlyMap<string, string>
  write(key: string, value: string): void
}

const memoryTable: Capability<Table> = { name: 'memoryTable' }

const to = (partition: number, value: string, key: string = value) =>
  input.message({ key, value, partition })

const valuesOf = (messages: readonly { readonly value: string }[]): string =>
  messages.map(({ value }) => value).join('')

/** A service that keeps what it was called with, and fails whenever `bad` is among it. */
function keeping(calls: string[], bad?: string, more: { batch?: number } = {}): Service {
  return defineService('keeping', {
    ...stopsAtFailure,
    inputs: [input],
    ...more,
    handleMany(messages) {
      calls.push(valuesOf(messages))
      if (messages.some(({ value }) => value === bad)) throw new Error('as planned')
    },
  })
}

async function failing(service: Service, options: object, ...messages: ReturnType<typeof to>[]) {
  const runtime = await testRuntime(service, { broker: kept(embeddedBroker()), ...options })
  await runtime.send(...messages)
  const error: unknown = await runtime.settled().catch((cause: unknown) => cause)
  await runtime.stop().catch(() => {})
  return { runtime, error }
}

test('what has gathered is handled in one call, in the order of fetching, with several messages of one key', async () => {
  const calls: string[] = []
  await using runtime = await testRuntime(keeping(calls))
  await runtime.send(to(0, 'a', 'k'), to(0, 'b', 'l'), to(0, 'c', 'k'), to(0, 'd', 'l'))
  await runtime.settled()
  assert.deepEqual(calls, ['abcd'])
})

test('a call has no more messages than `batch` says', async () => {
  const calls: string[] = []
  await using runtime = await testRuntime(keeping(calls, undefined, { batch: 3 }))
  await runtime.send(...[...'abcdefgh'].map((value) => to(0, value)))
  await runtime.settled()
  assert.deepEqual(calls, ['abc', 'def', 'gh'])
})

test('calls that run at once have different partitions, and there are as many as concurrency allows', async () => {
  const running = new Set<number>()
  const open: (() => void)[] = []
  const service = defineService('parallel', {
    ...stopsAtFailure,
    inputs: [input],
    batch: 2,
    async handleMany(messages) {
      const partitions = new Set(messages.map(({ partition }) => partition))
      for (const partition of partitions) {
        assert.ok(!running.has(partition), `two calls at once for partition ${partition}`)
        running.add(partition)
      }
      await new Promise<void>((resolve) => open.push(resolve))
      for (const partition of partitions) running.delete(partition)
    },
  })
  await using runtime = await testRuntime(service)
  await runtime.send(...[...'abcd'].flatMap((value) => [to(0, value), to(1, value)]))
  await eventually('two calls', () => open.length === 2)
  assert.deepEqual([...running].toSorted(), [0, 1])
  const settled = runtime.settled()
  while (running.size > 0) {
    for (const go of open.splice(0)) go()
    await new Promise(setImmediate)
    await new Promise(setImmediate)
  }
  await settled
})

test('a call that throws is repeated with halves until the message at fault stands alone', async () => {
  const calls: string[] = []
  const { error, runtime } = await failing(
    keeping(calls, 'c'),
    {},
    ...[...'abcdefgh'].map((value) => to(0, value)),
    to(1, 'x'),
    to(1, 'y'),
  )
  assert.deepEqual(calls.slice(0, 5), ['abcdefghxy', 'abcde', 'abc', 'ab', 'c'])
  assert.deepEqual(calls.slice(5).join(''), 'xy', 'what follows it is dropped, and others are not')
  assert.ok(PolluxError.is(error, 'POLLUX_HANDLER_FAILED'))
  assert.match(error.message, /input\/0\/2 failed: as planned/)
  const group = await runtime.broker.admin.group('keeping')
  assert.deepEqual(
    group?.offsets.map(({ partition, offset }) => [partition, offset]),
    [
      [0, 2],
      [1, 2],
    ],
  )
})

test('a message that cannot be decoded is not given to the handler, and the others are', async () => {
  const calls: string[] = []
  const strict = topic('input', {
    key: text,
    value: {
      ...text,
      decode(bytes) {
        if (`${bytes}` === 'b') throw new Error('not this one')
        return `${bytes}`
      },
    },
    create: { partitions: 2 },
  })
  const service = defineService('strict', {
    ...stopsAtFailure,
    inputs: [strict],
    handleMany: (messages) => void calls.push(valuesOf(messages)),
  })
  const { error } = await failing(service, {}, to(0, 'a'), to(0, 'b'), to(0, 'c'), to(1, 'x'))
  assert.ok(PolluxError.is(error, 'POLLUX_DECODE_FAILED'), String(error))
  assert.deepEqual(calls, ['ax'])
})

/** A service that returns what `results` makes of its messages. */
function returning(
  results: (messages: readonly Message<string, string, string>[]) => unknown,
): Service {
  return defineService('returning', {
    ...stopsAtFailure,
    inputs: [input],
    outputs: [output],
    handleMany: (messages) =>
      results(messages as never) as readonly MessageResult<(typeof messages)[0], typeof output>[],
  })
}

const copyOf = ({ key, value }: Message<string, string, string>) => output.message({ key, value })

test('each message has its own outputs, whose ids follow from it', async () => {
  const service = returning((messages) =>
    messages.map((message) => ({ message, outputs: [copyOf(message), copyOf(message)] })),
  )
  await using runtime = await testRuntime(service)
  await runtime.send(to(0, 'a'), to(0, 'b'))
  await runtime.settled()
  const ids = (await runtime.messages(output)).map(({ value, id }) => [
    value,
    id.replaceAll(/~\w+|:\w+$/g, ''),
  ])
  assert.deepEqual(ids, [
    ['a', 'returning:input/0/0:output:0'],
    ['a', 'returning:input/0/0:output:1'],
    ['b', 'returning:input/0/1:output:0'],
    ['b', 'returning:input/0/1:output:1'],
  ])
})

test('a result with an error is that of its message alone: those before it have their effects, those behind it are dropped', async () => {
  const service = returning((messages) =>
    messages.map((message) =>
      message.value === 'b'
        ? { message, error: new Error('no') }
        : { message, outputs: copyOf(message) },
    ),
  )
  const sent = [to(0, 'a'), to(0, 'b'), to(0, 'c'), to(1, 'x')]
  const { error, runtime } = await failing(service, {}, ...sent)
  assert.match(String(error), /input\/0\/1 failed: no/)
  assert.equal(valuesOf(await runtime.messages(output)), 'ax')
})

for (const [what, results, text_] of [
  ['a message without a result has failed', ([first]) => [{ message: first }], /none for this/],
  ['results for other messages fail the call', ([m]) => [{ message: { ...m } }], /very object/],
  ['two results fail the call', ([m]) => [{ message: m }, { message: m }], /two for the same/],
  ['anything else fails the call', () => 'done', /a list of results, or nothing/],
] satisfies [string, (messages: readonly object[]) => unknown, RegExp][]) {
  test(`${what}, with a text that says so`, async () => {
    const { error } = await failing(returning(results), {}, to(0, 'a'), to(0, 'b'))
    assert.ok(PolluxError.is(error, 'POLLUX_HANDLER_FAILED'), String(error))
    assert.match(`${error.message} ${error.expected} ${error.found}`, text_)
  })
}

test('an output that may not be sent is the fault of its message', async () => {
  const service = returning((messages) =>
    messages.map((message) => ({
      message,
      outputs: message.value === 'b' ? input.message(message as never) : copyOf(message),
    })),
  )
  const { error, runtime } = await failing(service, {}, to(0, 'a'), to(0, 'b'))
  assert.ok(PolluxError.is(error, 'POLLUX_OUTPUT_UNDECLARED'), String(error))
  assert.equal(valuesOf(await runtime.messages(output)), 'a')
})

for (const uses of [undefined, { db: memoryTable }]) {
  test(`R7: of two copies of an event the second waits for the first one’s end, ${uses ? 'in' : 'without'} a transaction`, async () => {
    const calls: string[] = []
    const service = defineService('once', {
      ...stopsAtFailure,
      inputs: [input],
      idempotency: { by: 'event-id' },
      ...(uses && { uses }),
      handleMany: (messages) => void calls.push(valuesOf(messages)),
    })
    await using runtime = await testRuntime(service, {
      store: new MemoryTable().join(memoryStore()),
    })
    const copy = (value: string) =>
      input.message({ key: value, value, partition: 0, headers: { id: 'e1' } })
    await runtime.send(copy('a'), copy('b'), to(0, 'c'))
    await runtime.settled()
    assert.deepEqual(calls, ['ac'])
  })
}

/** Writes each message in the table, and fails as `fails` says. */
function writing(
  table: MemoryTable,
  calls: string[],
  fails: (messages: readonly { readonly value: string }[]) => unknown = () => undefined,
): Service {
  return defineService('writing', {
    ...stopsAtFailure,
    inputs: [input],
    uses: { db: memoryTable },
    handleMany(messages, { db }) {
      calls.push(valuesOf(messages))
      for (const { key, value } of messages)
        db.write(key, `${db.written.get(key) ?? table.rows.get(key) ?? ''}${value}`)
      return fails(messages) as undefined
    },
  })
}

test('with a transaction, a call that fails has written nothing, and its halves write it once', async () => {
  const table = new MemoryTable()
  const calls: string[] = []
  const fails = (messages: readonly { value: string }[]) => {
    if (valuesOf(messages).includes('c')) throw new Error('as planned')
  }
  const { error } = await failing(
    writing(table, calls, fails),
    { store: table.join(memoryStore()) },
    ...[...'abcd'].map((value) => to(0, value, 'k')),
    to(1, 'x'),
  )
  assert.match(String(error), /input\/0\/2 failed: as planned/)
  assert.deepEqual(calls, ['abcdx', 'abc', 'ab', 'c', 'x'])
  assert.deepEqual(Object.fromEntries(table.rows), { k: 'ab', x: 'x' })
})

test('with a transaction, nothing that was written for a failed message or behind it stays', async () => {
  const table = new MemoryTable()
  const calls: string[] = []
  const fails = (messages: readonly { value: string }[]) =>
    messages.map((message) =>
      message.value === 'b' ? { message, error: new Error('no') } : { message },
    )
  const sent = [to(0, 'a', 'k'), to(0, 'b', 'k'), to(0, 'c', 'k'), to(1, 'x')]
  const { error } = await failing(
    writing(table, calls, fails),
    { store: table.join(memoryStore()) },
    ...sent,
  )
  assert.match(String(error), /input\/0\/1 failed: no/)
  assert.deepEqual(calls, ['abcx', 'ax'])
  assert.deepEqual(Object.fromEntries(table.rows), { k: 'a', x: 'x' })
})

test('the end of a transaction is no fault of the batch: all of it is done again, once', async () => {
  const table = new MemoryTable()
  const calls: string[] = []
  const store = firstBroken(table.join(memoryStore()))
  await using runtime = await testRuntime(writing(table, calls), { store })
  await runtime.send(to(0, '1', 'k'), to(0, '2', 'k'), to(0, '3', 'k'))
  await runtime.settled()
  assert.deepEqual(calls, ['123', '123'])
  assert.equal(table.rows.get('k'), '123')
})

/** A store whose first transaction breaks at the end of its first attempt. */
function firstBroken(store: Store): Store {
  const { transactions } = store
  assert.ok(transactions)
  let begun = 0
  const begin = async () => {
    const transaction = await transactions.begin()
    begun += 1
    if (begun > 1) return transaction
    let broken: Error | undefined
    return {
      get broken() {
        return broken
      },
      attempt: <T>(body: (capability: unknown) => Promise<T>) =>
        transaction.attempt(async (capability) => {
          await body(capability)
          broken = unreachable()
          throw broken
        }),
      commit: transaction.commit.bind(transaction),
      rollback: () => transaction.rollback(),
    }
  }
  return storeOver(store, { transactions: { capability: transactions.capability, begin } })
}

test('a stop that has waited long enough aborts the signal, and what the call was given is delivered again', async () => {
  const clock = new ManualClock()
  const started = Promise.withResolvers<void>()
  const service = defineService('waiting', {
    ...stopsAtFailure,
    inputs: [input],
    async handleMany(_, { signal }) {
      started.resolve()
      await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('told to give up'))),
      )
    },
  })
  const runtime = await testRuntime(service, { clock, drainTimeout: '5s' })
  await runtime.send(to(0, 'a'), to(0, 'b'), to(1, 'c'))
  await started.promise
  const stopped = runtime.stop()
  await new Promise(setImmediate)
  await clock.advance(5_000)
  assert.deepEqual(await stopped, { outcome: 'aborted', abandoned: 3 })
})

test('what cannot go together with handleMany is refused at definition', () => {
  const define = (definition: object) => () =>
    defineService('wrong', { inputs: [input], ...definition } as never)
  const handleMany = () => {}
  const cases: readonly [object, RegExp][] = [
    [{ handle() {}, handleMany }, /handle: expected it or handleMany, found both/],
    [{}, /handle: expected a function, found undefined/],
    [{ handleMany: 'x' }, /handleMany: expected a function/],
    [{ handle() {}, batch: 5 }, /batch: expected none/],
    [{ handleMany, batch: 0 }, /batch: expected a whole number from 1 to 10000/],
    [{ handleMany, state: text }, /state: expected none with handleMany/],
    [{ handleMany, idempotency: { by: 'version', of: () => 1 } }, /idempotency: expected 'offset'/],
  ]
  for (const [definition, expected] of cases) assert.throws(define(definition), expected)
  assert.equal(defineService('many', { inputs: [input], handleMany }).options.concurrency, 2)
  assert.equal(defineService('one', { inputs: [input], handle() {} }).options.concurrency, 64)
})
