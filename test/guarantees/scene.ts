import assert from 'node:assert/strict'
import type { Broker, LogRange } from '../../src/ports/broker.ts'
import {
  type Crash,
  CrashProcess,
  crashAgainAndAgain,
  crashPointsOf,
  finishInPeace,
} from '../../src/testing/index.ts'
import { type InputsOf, once, partitions } from './inputs.ts'
import type { MemberSettings } from './member-process.ts'
import { type Mechanism, type ServiceNames, type ServiceSettings, serviceOf } from './services.ts'
import { type Rules, Witness } from './witness.ts'

/** Where a scene plays: a broker, and a store for services that need one. */
export interface Place {
  readonly names: ServiceNames
  readonly broker: Broker
  readonly store: MemberSettings['store']
  /** How a member gets to the broker. */
  brokerFor(member: string): MemberSettings['broker']
  /** What must hold of the store once all is settled. */
  checkSettled?(ranges: readonly LogRange[]): Promise<void>
}

export interface SceneOptions {
  readonly mechanism: Mechanism
  readonly rules: Rules
  /** The inputs about an event. Default: one, without an id. */
  readonly inputsOf?: InputsOf
}

export interface CrashOptions {
  /** Of the members. */
  readonly names?: readonly string[]
  /** How often members die at each point. POLLUX_ROUNDS says instead how often they die in all. */
  readonly each?: number
}

/** A service at work somewhere, and somebody who looks at it from outside. */
export class Scene {
  readonly witness: Witness
  readonly names: ServiceNames
  readonly #place: Place
  readonly #mechanism: Mechanism
  readonly #inputsOf: InputsOf
  #next = 0
  readonly #processes: CrashProcess[] = []

  private constructor(place: Place, { mechanism, rules, inputsOf = once }: SceneOptions) {
    this.#place = place
    this.#mechanism = mechanism
    this.#inputsOf = inputsOf
    this.names = place.names
    this.witness = new Witness(place.broker, place.names, rules)
  }

  static async open(place: Place, options: SceneOptions): Promise<Scene> {
    const scene = new Scene(place, options)
    await scene.witness.open(partitions)
    return scene
  }

  get broker(): Broker {
    return this.#place.broker
  }

  /** How many events there are. */
  get fed(): number {
    return this.#next
  }

  /** What a member is given for a store. */
  get store(): MemberSettings['store'] {
    return serviceOf(this.#settings('')).needsStore ? this.#place.store : undefined
  }

  #settings(owner: string): ServiceSettings {
    return { ...this.names, mechanism: this.#mechanism, owner }
  }

  /** Starts a process of a member. */
  start(member: string, crash?: Crash, changes: Partial<MemberSettings> = {}): CrashProcess {
    const settings: MemberSettings = {
      ...this.#settings(`${member}${this.#processes.length + 1}`),
      broker: this.#place.brokerFor(member),
      store: this.store,
      ...changes,
    }
    const process = new CrashProcess(script, { args: [JSON.stringify(settings)], crash })
    this.#processes.push(process)
    return process
  }

  /** Writes so much that each member gets to all points. */
  async feed(): Promise<void> {
    const events = Array.from({ length: perMeal }, (_, index) => this.#next + index)
    this.#next += perMeal
    await this.witness.write(events.flatMap((event) => this.#inputsOf(event)))
  }

  /** Lets members die again and again, then finish in peace, and looks at what they have made of it. */
  async crashAgainAndAgain(
    changes: Partial<MemberSettings> = {},
    { names = ['a', 'b'], each = 3 }: CrashOptions = {},
  ): Promise<void> {
    const members = names.map((name) => (crash?: Crash) => this.start(name, crash, changes))
    const points = crashPointsOf(serviceOf(this.#settings('')))
    const rounds = Number(process.env['POLLUX_ROUNDS'] ?? each * (points.length + 1))
    const deaths = await crashAgainAndAgain({
      members,
      points,
      rounds,
      seed,
      feed: () => this.feed(),
      check: () => this.#check(),
    })
    const least = Math.floor(rounds / (points.length + 1))
    for (const point of points)
      assert.ok((deaths.get(point) ?? 0) >= least, `died ${deaths.get(point)} times at ${point}`)
    await this.finish(members)
  }

  async #check(): Promise<void> {
    for (const { errors } of this.#processes)
      assert.doesNotMatch(errors, /"level":50/, 'no process has reported a failure')
    await this.witness.check()
  }

  /** The members run in peace until all is settled, and all is as it should be. */
  async finish(members: readonly (() => CrashProcess)[]): Promise<void> {
    await finishInPeace(members, () => this.witness.isSettled())
    await this.checkAll()
  }

  /** What must hold once all is settled and nobody runs any more. */
  async checkAll(): Promise<void> {
    await this.witness.checkAll()
    if (this.store === undefined) return
    await this.#place.checkSettled?.(await this.broker.admin.ranges([this.names.input]))
  }
}

const script = new URL('./member-process.ts', import.meta.url)
const perMeal = 120

/** What repeats a test's chance. */
export const seed = Number(process.env['POLLUX_SEED'] ?? Date.now() % 1_000_000)
