import assert from 'node:assert/strict'
import { kafka } from '../../src/kafka/index.ts'
import type { Broker } from '../../src/ports/broker.ts'
import {
  type Crash,
  CrashProcess,
  crashAgainAndAgain,
  crashPointsOf,
  finishInPeace,
} from '../../src/testing/index.ts'
import { freshName } from '../postgres/server.ts'
import { Database } from './database.ts'
import { type InputsOf, once, partitions } from './inputs.ts'
import type { MemberSettings } from './member-process.ts'
import { type Mechanism, type ServiceNames, type ServiceSettings, serviceOf } from './services.ts'
import { type Rules, Witness } from './witness.ts'

const script = new URL('./member-process.ts', import.meta.url)

export interface SceneOptions {
  readonly mechanism: Mechanism
  /** Made of where effects are to be seen. */
  readonly rules: (database: Database) => Rules
  /** The inputs about an event. Default: one, without an id. */
  readonly inputsOf?: InputsOf
}

/** A service on Kafka with its database, where it has one, and somebody who looks at it from outside. */
export class Scene {
  readonly mechanism: Mechanism
  readonly names: ServiceNames
  readonly database: Database
  readonly witness: Witness
  readonly #inputsOf: InputsOf
  #next = 0
  #started = 0

  private constructor({ mechanism, rules, inputsOf = once }: SceneOptions) {
    const name = freshName()
    this.mechanism = mechanism
    this.names = { input: `${name}-in`, output: `${name}-out`, group: name }
    this.database = new Database(name)
    this.witness = new Witness(kafka({ brokers }), this.names, rules(this.database))
    this.#inputsOf = inputsOf
  }

  static async open(options: SceneOptions): Promise<Scene> {
    const scene = new Scene(options)
    if (scene.usesStore) await scene.database.open()
    await scene.witness.open(partitions)
    return scene
  }

  /** How many events there are. */
  get fed(): number {
    return this.#next
  }

  get broker(): Broker {
    return this.witness.broker
  }

  get usesStore(): boolean {
    return serviceOf(this.#settings('')).needsStore
  }

  #settings(owner: string): ServiceSettings {
    return { ...this.names, mechanism: this.mechanism, owner }
  }

  /** Starts a process of a member. */
  start(member: string, crash?: Crash, changes: Partial<MemberSettings> = {}): CrashProcess {
    this.#started += 1
    const settings: MemberSettings = {
      ...this.#settings(`${member}${this.#started}`),
      // A member that comes back under its name gets its partitions at once; without one, each death would cost a session.
      broker: { brokers, instanceId: `${this.names.group}-${member}` },
      store: this.usesStore ? this.database.store : undefined,
      ...changes,
    }
    return new CrashProcess(script, { args: [JSON.stringify(settings)], crash })
  }

  /** Writes so much that each member gets to all points. */
  async feed(): Promise<void> {
    const events = Array.from({ length: perMeal }, (_, index) => this.#next + index)
    this.#next += perMeal
    await this.witness.write(events.flatMap((event) => this.#inputsOf(event)))
  }

  /** Lets two members die again and again, then finish in peace, and looks at what they have made of it. */
  async crashAgainAndAgain(seed: number, changes: Partial<MemberSettings> = {}): Promise<void> {
    const members = ['a', 'b'].map((name) => (crash?: Crash) => this.start(name, crash, changes))
    const points = crashPointsOf(serviceOf(this.#settings('')))
    const rounds = Number(process.env['POLLUX_ROUNDS'] ?? 3 * (points.length + 1))
    const deaths = await crashAgainAndAgain({
      members,
      points,
      rounds,
      seed,
      feed: () => this.feed(),
      check: () => this.witness.check(),
    })
    const least = Math.floor(rounds / (points.length + 1))
    for (const point of points)
      assert.ok((deaths.get(point) ?? 0) >= least, `died ${deaths.get(point)} times at ${point}`)
    await this.finish(members)
  }

  /** Two members run in peace until all is settled, and all is as it should be. */
  async finish(members = ['a', 'b'].map((name) => () => this.start(name))): Promise<void> {
    await finishInPeace(members, () => this.witness.isSettled())
    await this.checkAll()
  }

  /** What must hold once all is settled and nobody runs any more. */
  async checkAll(): Promise<void> {
    await this.witness.checkAll()
    if (!this.usesStore) return
    const ranges = await this.broker.admin.ranges([this.names.input])
    const ends = new Map(ranges.map(({ partition, latest }) => [partition, latest]))
    await this.database.checkSettled(ends)
  }

  async close(): Promise<void> {
    await this.witness.close()
    await this.database.drop()
  }
}

export const brokers = (process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092').split(',')

/** What repeats a test's chance. */
export const seed = Number(process.env['POLLUX_SEED'] ?? Date.now() % 1_000_000)

const perMeal = 120
