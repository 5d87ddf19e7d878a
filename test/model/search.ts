import { hash } from 'node:crypto'
import type { Machine, Violation } from './machine.ts'
import { at } from './model.ts'

/** What a search has found. */
export interface Verdict {
  readonly states: number
  readonly steps: number
  /** False when the limit of states ended it: nothing is known of those that were not reached. */
  readonly isComplete: boolean
  /** Undefined when nothing was found to be wrong. */
  readonly counterexample: Counterexample | undefined
}

export interface Counterexample extends Violation {
  /** The steps of a shortest way to it. */
  readonly trace: readonly string[]
}

/**
 * Explores every state that a machine can reach, nearest first, so that a counterexample is a shortest one. Each state
 * is checked when it is reached, and in the end whether the end is within reach from each without another fault.
 */
export function search<State>(machine: Machine<State>, limit: number): Verdict {
  const found = new Exploration(machine)
  let counterexample: Counterexample | undefined
  while (found.hasNext && found.states <= limit && counterexample === undefined)
    counterexample = found.exploreNext()
  const isComplete = !found.hasNext
  if (isComplete) counterexample ??= found.stuckState()
  return { states: found.states, steps: found.steps, isComplete, counterexample }
}

class Exploration<State> {
  readonly #machine: Machine<State>
  /** By the digest of a state: millions of states themselves would fill the memory. */
  readonly #ids = new Map<string, number>()
  /** From here on, each index is the id of a state, in the order in which they were found. */
  readonly #parents: number[] = []
  /** Which of its parent's steps led to it. */
  readonly #ordinals: number[] = []
  /** The states from which a step that is no fault leads to it. */
  readonly #sources: number[][] = []
  readonly #isDeadEnd: boolean[] = []
  readonly #done: number[] = []
  readonly #waiting: (State | undefined)[] = []
  #next = 0
  steps = 0

  constructor(machine: Machine<State>) {
    this.#machine = machine
    this.#idOf(machine.initial, -1, -1)
  }

  get states(): number {
    return this.#parents.length
  }

  get hasNext(): boolean {
    return this.#next < this.states
  }

  /** Checks one state and finds those behind it. */
  exploreNext(): Counterexample | undefined {
    const id = this.#next
    const state = at(this.#waiting, id) as State
    this.#waiting[id] = undefined
    this.#next += 1
    const violation = this.#machine.violationIn(state)
    if (violation !== undefined) return { ...violation, trace: this.#pathTo(id).trace }
    if (this.#machine.isDone(state)) this.#done.push(id)
    const steps = this.#machine.stepsFrom(state)
    this.#isDeadEnd.push(steps.every(({ isFault }) => isFault))
    for (const [ordinal, { isFault, to }] of steps.entries()) {
      const next = this.#idOf(to, id, ordinal)
      if (!isFault) at(this.#sources, next).push(id)
    }
    this.steps += steps.length
    return undefined
  }

  /** A state that nothing but a fault could lead to the end from; best one in which nothing more can happen. */
  stuckState(): Counterexample | undefined {
    const canEnd = this.#statesThatCanEnd()
    const stuck = this.#parents.flatMap((_, id) => (canEnd.has(id) ? [] : [id]))
    const id = stuck.find((one) => this.#isDeadEnd[one]) ?? stuck[0]
    if (id === undefined) return undefined
    const { state, trace } = this.#pathTo(id)
    return { kind: 'stuck', what: this.#machine.describe(state), trace }
  }

  #statesThatCanEnd(): ReadonlySet<number> {
    const reached = new Set(this.#done)
    // A set is iterated in the order of insertion, what is added meanwhile included.
    for (const id of reached) for (const source of at(this.#sources, id)) reached.add(source)
    return reached
  }

  #idOf(state: State, parent: number, ordinal: number): number {
    const digest = hash('sha1', JSON.stringify(state), 'base64')
    const known = this.#ids.get(digest)
    if (known !== undefined) return known
    const id = this.states
    this.#ids.set(digest, id)
    this.#parents.push(parent)
    this.#ordinals.push(ordinal)
    this.#sources.push([])
    this.#waiting.push(state)
    return id
  }

  /** States are not kept, so the way is gone again from the start. */
  #pathTo(id: number): { readonly state: State; readonly trace: readonly string[] } {
    const parent = at(this.#parents, id)
    if (parent === -1) return { state: this.#machine.initial, trace: [] }
    const before = this.#pathTo(parent)
    const step = at(this.#machine.stepsFrom(before.state), at(this.#ordinals, id))
    return { state: step.to, trace: [...before.trace, step.name] }
  }
}
