/** What a search explores: where it starts, what may come next, and what must never be. */
export interface Machine<State> {
  readonly initial: State
  /** Everything that may happen in a state. The search never changes a state. */
  stepsFrom(state: State): readonly Step<State>[]
  /** What is wrong in a state, if anything is. */
  violationIn(state: State): Violation | undefined
  /** All that had to happen has happened. */
  isDone(state: State): boolean
  /** The state in a few words, for the last line of a counterexample. */
  describe(state: State): string
}

export interface Step<State> {
  /** As traces show it: who does what. */
  readonly name: string
  /** The end must be within reach without such steps. */
  readonly isFault: boolean
  readonly to: State
}

export interface Violation {
  /** Which promise is broken. */
  readonly kind: string
  /** How, in this state. */
  readonly what: string
}

/** Changes a copy of the state. May return what came of it, for the trace. */
export type Change<State> = (draft: State) => string | void

/** Takes the steps that lead out of one state. */
export interface Offers<State> {
  step(name: string, change: Change<State>): void
  /** A step that nobody may wait for. */
  fault(name: string, change: Change<State>): void
}

/** The steps that `offer` offers from a state. */
export function stepsOffered<State>(
  state: State,
  copy: (state: State) => State,
  offer: (offers: Offers<State>) => void,
): Step<State>[] {
  const steps: Step<State>[] = []
  const take = (name: string, isFault: boolean, change: Change<State>): void => {
    const to = copy(state)
    const answer = change(to)
    steps.push({ name: answer === undefined ? name : `${name}: ${answer}`, isFault, to })
  }
  offer({
    step: (name, change) => take(name, false, change),
    fault: (name, change) => take(name, true, change),
  })
  return steps
}
