import assert from 'node:assert/strict'
import type { Duration } from '../../../src/duration.ts'
import { type RunOptions, type Runtime, run, type Service } from '../../../src/index.ts'
import { type PostgresOptions, postgres } from '../../../src/postgres/index.ts'
import { eventually, within } from '../../../src/testing/index.ts'
import { watchedBroker } from '../../../src/testing/watched-broker.ts'
import { Database } from '../../guarantees/database.ts'
import { once, partitions } from '../../guarantees/inputs.ts'
import { oncePerEvent } from '../../guarantees/rules.ts'
import { type ServiceNames, serviceOf } from '../../guarantees/services.ts'
import { Witness } from '../../guarantees/witness.ts'
import { brokers, connection, keepingLogger, makeTopic } from '../../kafka/support.ts'
import { address, ask, freshName } from '../../postgres/server.ts'
import { DatabaseProxy } from './database-proxy.ts'

// The server asks for none.
export const password = 'not-to-be-told'

export interface OutageSceneOptions {
  /** Where effects are written: the service's state, or a table by its own statements. */
  readonly effects: 'state' | 'table'
  /** Default: the service of that mechanism. */
  readonly service?: (names: ServiceNames) => Service
  readonly store?: Partial<PostgresOptions>
  readonly drainTimeout?: Duration
}

/** One service in this process, with a role of its own on the server, that is fed all the time. */
export class OutageScene {
  readonly name = freshName()
  /** What the service signs in as. */
  readonly role = this.name
  readonly names: ServiceNames = {
    input: `${this.name}-in`,
    output: `${this.name}-out`,
    group: this.name,
  }
  readonly database = new Database(this.name)
  readonly proxy = new DatabaseProxy()
  readonly broker = connection()
  readonly witness: Witness
  readonly #options: OutageSceneOptions
  readonly #log = keepingLogger()
  #runtime: Runtime | undefined
  #member: string | undefined
  /** How often the group gave partitions, or wanted them back. */
  #moves = 0
  #fed = 0
  readonly #endings: (() => Promise<unknown>)[] = []
  /** The inputs whose handlers have begun. */
  readonly #begun = new Set<string>()
  #isFeeding = false
  #feeding: Promise<void> = Promise.resolve()

  private constructor(options: OutageSceneOptions) {
    this.#options = options
    const { states, rows, stored } = this.database
    const effects = options.effects === 'state' ? states : rows
    this.witness = new Witness(this.broker, this.names, oncePerEvent(effects, { stored }))
  }

  static async open(options: OutageSceneOptions): Promise<OutageScene> {
    const scene = new OutageScene(options)
    await scene.database.open()
    await ask(`create role ${scene.role} login`)
    await ask(`grant usage on schema ${scene.name} to ${scene.role}`)
    for (const kind of ['tables', 'sequences'])
      await ask(`grant all on all ${kind} in schema ${scene.name} to ${scene.role}`)
    await scene.proxy.open()
    await scene.broker.connect()
    const { input, output } = scene.names
    // A topic that was made is not known everywhere at once.
    for (const name of [input, output]) await makeTopic(scene.broker, name, partitions)
    await scene.witness.open(partitions)
    return scene
  }

  /** The table that effects are written in. */
  get written(): string {
    return this.#options.effects === 'state' ? 'pollux_state' : 'effects'
  }

  get runtime(): Runtime {
    assert.ok(this.#runtime !== undefined, 'the service has been started')
    return this.#runtime
  }

  get lines(): readonly string[] {
    return this.#log.lines
  }

  /** Starts the service, without waiting for partitions. */
  async run(more: Pick<RunOptions, 'signal'> = {}): Promise<Runtime> {
    const { effects, service, store, drainTimeout = '20s' } = this.#options
    const mechanism = effects === 'state' ? 'offset' : 'own-sql'
    const count = (): void => {
      this.#moves += 1
    }
    this.#runtime = await run(
      this.#watched(service?.(this.names) ?? serviceOf({ ...this.names, mechanism, owner: 'one' })),
      {
        broker: watchedBroker(connection(), { assigned: count, revoking: count }),
        store: postgres({
          connectionString: address({
            host: '127.0.0.1',
            port: this.proxy.port,
            user: this.role,
            password,
          }),
          schema: this.name,
          migrate: false,
          connectTimeout: '1s',
          statementTimeout: '1s',
          lockTimeout: '200ms',
          ...store,
        }),
        logger: this.#log.logger,
        signals: false,
        drainTimeout,
        ...more,
      },
    )
    // What goes wrong shows in what the test waits for.
    this.#runtime.done.catch(() => {})
    return this.#runtime
  }

  #watched(service: Service): Service {
    const handle = service.handle as (message: { value: string }, context: unknown) => unknown
    return {
      ...service,
      handle: (message: { value: string }, context: unknown) => {
        this.#begun.add(message.value)
        return handle(message, context)
      },
    }
  }

  /** How many messages' handlers have begun that have had no effect. */
  async unfinished(): Promise<number> {
    const applied = new Set((await this.witness.effects()).map(({ value }) => value))
    return [...this.#begun].filter((value) => !applied.has(value)).length
  }

  /** Starts the service, and feeds it until its work flows. */
  async start(): Promise<void> {
    await this.run()
    this.feed()
    await this.flows()
    this.#member = await this.member()
    this.#moves = 0
  }

  /** Writes some inputs every few milliseconds, whatever becomes of them, until `endFeeding`. */
  feed(): void {
    this.#isFeeding = true
    this.#feeding = (async () => {
      while (this.#isFeeding) {
        await this.write(3)
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    })()
  }

  /** Writes so many inputs. */
  async write(count: number): Promise<void> {
    const events = Array.from({ length: count }, (_, index) => this.#fed + index)
    this.#fed += count
    await this.witness.write(events.flatMap(once))
  }

  async endFeeding(): Promise<void> {
    this.#isFeeding = false
    await this.#feeding
  }

  /** Resolves when more work is done than now. */
  async flows(least = 50): Promise<void> {
    const before = await this.#done()
    await this.until('work flows', async () => (await this.#done()) >= before + least)
  }

  async #done(): Promise<number> {
    const [row] = await ask(`select sum(next) as done from ${this.name}.pollux_ledger`)
    return Number(row?.['done'] ?? 0)
  }

  /** The id of the group's only member. */
  async member(): Promise<string> {
    const { members } = await this.broker.admin.group(this.names.group)
    assert.equal(members.length, 1, 'the group has one member')
    return String(members[0]?.id)
  }

  /** Waits for it while the service runs. */
  async until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
    let hasEnded = false
    const ended = this.runtime.done.finally(() => {
      hasEnded = true
    })
    const looking = eventually(what, async () => hasEnded || (await look()), { deadline: 40_000 })
    ended.catch(() => {})
    try {
      await looking
    } catch (cause) {
      throw new Error(`${what}: ${this.lines.slice(-15).join('\n')}`, { cause })
    }
    if (hasEnded) assert.fail(`the service has ended: ${this.lines.slice(-15).join('\n')}`)
  }

  isWaiting(): boolean {
    return this.runtime.readiness.waitingFor.length > 0
  }

  /** Ends the service's sessions, or only those of which this holds. */
  async endSessions(condition = 'true'): Promise<number> {
    const ended = await ask(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where usename = $1 and application_name = 'pollux' and ${condition}`,
      [this.role],
    )
    return ended.length
  }

  /** How many of the service's statements wait for a lock, by when they began. */
  async lockWaits(): Promise<readonly string[]> {
    const rows = await ask(
      `select query_start::text as begun from pg_stat_activity
        where usename = $1 and application_name = 'pollux' and wait_event_type = 'Lock'`,
      [this.role],
    )
    return rows.map(({ begun }) => String(begun))
  }

  /** Resolves when so many statements of the service have waited for locks. */
  async waitsForLocks(count: number): Promise<void> {
    const seen = new Set<string>()
    await this.until('statements wait for a lock', async () => {
      for (const begun of await this.lockWaits()) seen.add(begun)
      return seen.size >= count
    })
  }

  /** The trouble is over: all is done, by the same member, and all is as it should be. */
  async finish(): Promise<void> {
    await this.endFeeding()
    await this.until('all is settled', () => this.witness.isSettled())
    await this.until('it is ready', () => this.runtime.readiness.isReady)
    assert.equal(await this.member(), this.#member, 'the member is the same')
    assert.equal(this.#moves, 0, 'nothing was moved within the group')
    const report = await within('stop', this.runtime.stop(), 20_000)
    assert.deepEqual(report, { outcome: 'drained', abandoned: 0 })
    await this.check()
  }

  /** What must hold once all is settled and nobody runs. */
  async check(): Promise<void> {
    await this.witness.checkAll()
    await this.database.checkSettled(await this.broker.admin.ranges([this.names.input]))
  }

  /** How often each kind of call began to wait. Each must have ended that before it began once more. */
  troubles(): Record<string, number> {
    const open = new Set<string>()
    const counts: Record<string, number> = {}
    for (const line of this.lines) {
      const [, kind = '', end] =
        /} ([a-z ]+): (waiting until it works|repeating it until it works|(?:it )?works again)$/.exec(
          line,
        ) ?? []
      if (end === undefined) continue
      const isBegin = end.includes('until')
      assert.equal(open.has(kind), !isBegin, `${kind}: ${end}, out of turn`)
      if (isBegin) {
        open.add(kind)
        counts[kind] = (counts[kind] ?? 0) + 1
      } else open.delete(kind)
    }
    assert.deepEqual([...open], [], 'what began to wait works again')
    return counts
  }

  /** Something to be done before the scene is taken down. */
  atEnd(action: () => Promise<unknown>): void {
    this.#endings.push(action)
  }

  async close(): Promise<void> {
    for (const action of this.#endings) await action()
    this.#isFeeding = false
    await this.#feeding.catch(() => {})
    await this.proxy.turn('pass')
    await this.#runtime?.stop().catch(() => {})
    this.proxy.close()
    await deleteTopics([this.names.input, this.names.output])
    await this.witness.close()
    await this.database.drop()
    await ask(`drop owned by ${this.role}`)
    await ask(`drop role ${this.role}`)
  }
}

/** Pollux itself deletes no topics. */
async function deleteTopics(names: readonly string[]): Promise<void> {
  const driver = (await import('@confluentinc/kafka-javascript')).default
  const client = driver.AdminClient.create({ 'bootstrap.servers': brokers.join(',') })
  try {
    for (const name of names)
      await new Promise<void>((resolve, reject) =>
        client.deleteTopic(name, 10_000, (error?: unknown) => (error ? reject(error) : resolve())),
      )
  } finally {
    client.disconnect()
  }
}
