import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { defineService, PolluxError, run, type Service, text, topic } from '../../src/index.ts'
import { silent } from '../../src/ports/logger.ts'
import { postgres } from '../../src/postgres/index.ts'
import type { HandlerOptions } from '../../src/service-options.ts'
import { eventually } from '../../src/testing/index.ts'
import { connection, idle, makeTopic, record } from '../kafka/support.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { consumerGroupsTool } from './consumer-groups-tool.ts'

/** A topic with one partition and ten records, a group and a schema, all of one name. */
class Scene {
  readonly name = freshName()
  readonly broker = connection()
  /** What handlers were given, in order. */
  readonly handled: string[] = []
  readonly #input = topic(this.name, { key: text, value: text })

  async open(): Promise<void> {
    await this.broker.connect()
    await makeTopic(this.broker, this.name, 1)
    await this.send(10)
  }

  async send(count: number): Promise<void> {
    const [range] = await this.broker.admin.ranges([this.name])
    const first = range?.latest ?? 0
    const producer = await this.broker.producer()
    const records = Array.from({ length: count }, (_, index) =>
      record(this.name, { key: Buffer.from('k'), text: `${first + index}` }),
    )
    assert.deepEqual(await producer.send(records), [])
    await producer.close()
  }

  service(options: HandlerOptions = {}): Service {
    return defineService(this.name, {
      inputs: [this.#input],
      state: text,
      ...options,
      handle: async ({ value }, { state }) => {
        this.handled.push(value)
        await state.put(`${(await state.get()) ?? ''}${value} `)
      },
    })
  }

  storeless(): Service {
    const handle = ({ value }: { value: string }): void => void this.handled.push(value)
    return defineService(this.name, { inputs: [this.#input], handle })
  }

  /** Runs a service until the group stands at the end of the log, by a word of its own; gives what was handled. */
  async work(service: Service): Promise<readonly string[]> {
    const before = this.handled.length
    const runtime = await this.#run(service)
    try {
      await eventually('all is committed', async () => {
        const [range] = await this.broker.admin.ranges([this.name])
        const { offset, metadata } = await this.committed()
        const isOurs = metadata?.startsWith('pollux/1') === true
        return isOurs && offset === range?.latest
      })
    } finally {
      await runtime.stop()
    }
    return this.handled.slice(before)
  }

  /** The error that a service stops with. */
  async refusal(service: Service): Promise<PolluxError> {
    const runtime = await this.#run(service)
    const error: unknown = await runtime.done.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    assert.ok(PolluxError.is(error), String(error))
    return error
  }

  #run(service: Service): ReturnType<typeof run> {
    const store = postgres({ connectionString: address(), schema: this.name })
    return run(service, {
      broker: connection(),
      ...(service.needsStore ? { store } : {}),
      logger: silent,
      signals: false,
    })
  }

  async committed(): Promise<{ readonly offset?: number; readonly metadata?: string | undefined }> {
    const { offsets } = await this.broker.admin.group(this.name)
    return offsets[0] ?? {}
  }

  reset(...how: readonly string[]): Promise<string> {
    const what = ['--group', this.name, '--topic', `${this.name}:0`]
    return consumerGroupsTool(...what, '--reset-offsets', ...how, '--execute')
  }

  async close(): Promise<void> {
    await this.broker.close()
    await ask(`drop schema if exists "${this.name}" cascade`)
  }
}

const all = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']

describe('R4: offsets that an operator resets by kafka-consumer-groups', () => {
  const scene = new Scene()
  before(async () => {
    await scene.open()
    assert.deepEqual(await scene.work(scene.service()), all)
    assert.deepEqual((await scene.committed()).metadata, 'pollux/1;ledger;at=10')
  })
  after(() => scene.close())

  test('stop the service, which names both positions and the ways out', async () => {
    await scene.reset('--to-offset', '4')
    const error = await scene.refusal(scene.service())
    assert.equal(error.code, 'POLLUX_OUTSIDE_RESET')
    assert.match(error.message, new RegExp(`${scene.name}/0: 4 in the group, 10 in the ledger`))
    assert.match(error.message, /kafka-consumer-groups .*--to-offset 10 --execute/)
    assert.equal(scene.handled.length, all.length)
  })

  test("are followed backwards with outsideReset 'follow', once", async () => {
    const service = scene.service({ outsideReset: 'follow' })
    assert.deepEqual(await scene.work(service), all.slice(4))
    await scene.send(1)
    assert.deepEqual(await scene.work(service), ['10'])
    const [row] = await ask(`select next, settled::text from "${scene.name}".pollux_ledger`)
    assert.deepEqual(row, { next: '11', settled: '{}' })
  })

  test("are passed over with outsideReset 'ledger', and committed over", async () => {
    await scene.reset('--to-earliest')
    assert.deepEqual(await scene.work(scene.service({ outsideReset: 'ledger' })), [])
    assert.equal((await scene.committed()).metadata, 'pollux/1;ledger;at=11')
    assert.deepEqual(await scene.work(scene.service()), [])
  })

  test("are followed forwards with outsideReset 'follow': what lies between is skipped", async () => {
    await scene.send(5)
    await scene.reset('--to-offset', '14')
    assert.deepEqual(await scene.work(scene.service({ outsideReset: 'follow' })), ['14', '15'])
  })

  test('set to where the ledger is are taken as they are', async () => {
    await scene.reset('--to-offset', '16')
    await scene.send(1)
    assert.deepEqual(await scene.work(scene.service()), ['16'])
  })

  test('and deleted ones leave the service where its ledger is', async () => {
    await consumerGroupsTool(...['--group', scene.name, '--topic', scene.name, '--delete-offsets'])
    assert.equal((await scene.committed()).offset, undefined)
    await scene.send(1)
    assert.deepEqual(await scene.work(scene.service()), ['17'])
  })

  test('without a ledger, though there was one, the service stops until somebody says where to begin', async () => {
    await ask(`delete from "${scene.name}".pollux_ledger`)
    const error = await scene.refusal(scene.service())
    assert.equal(error.code, 'POLLUX_LEDGER_MISSING')
    assert.match(error.message, /18 in the group, nothing in the ledger/)
    await scene.reset('--to-offset', '17')
    assert.deepEqual(await scene.work(scene.service()), ['17'])
  })
})

test('R4: a group of a hand-written loop, or of a service that had no store, goes on where it is', async (context) => {
  const scene = new Scene()
  context.after(() => scene.close())
  await scene.open()
  const isOurs = Promise.withResolvers<void>()
  const member = await scene.broker.join(
    { group: scene.name, topics: [scene.name], start: 'earliest', logger: silent },
    {
      ...idle,
      async assigned() {
        isOurs.resolve()
        return []
      },
    },
  )
  let polling = member.poll(1)
  await eventually('the partition comes', async () => {
    await polling
    polling = member.poll(1)
    return await Promise.race([isOurs.promise.then(() => true), polling.then(() => false)])
  })
  await polling
  await member.commit([{ topic: scene.name, partition: 0, offset: 6 }])
  await member.leave()
  assert.deepEqual(await scene.work(scene.storeless()), ['6', '7', '8', '9'])
  assert.equal((await scene.committed()).metadata, 'pollux/1;at=10')
  await scene.send(2)
  assert.deepEqual(await scene.work(scene.service()), ['10', '11'])
  assert.equal((await scene.committed()).metadata, 'pollux/1;ledger;at=12')
})
