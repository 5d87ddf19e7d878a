import { isDone, staleLastIn, violationIn } from './invariants.ts'
import { type Machine, type Offers, stepsOffered } from './machine.ts'
import { type Configuration, Model } from './model.ts'
import { copyOf, initialState, isAcquired, ownershipsIn, type State } from './state.ts'
import { offerCommits, offerLateRequest } from './steps/commit.ts'
import { offerFaults } from './steps/faults.ts'
import { offerHandling } from './steps/handle.ts'
import { offerOffsetCommit, reportOffsets } from './steps/offsets.ts'
import { offerArrivals, offerSettling } from './steps/publish.ts'
import { offerOwnership } from './steps/take-over.ts'

/** The protocol of one configuration, as what a search explores. */
export function protocolMachine(configuration: Configuration): Machine<State> {
  const model = new Model(configuration)
  return {
    initial: initialState(model),
    stepsFrom: (state) => {
      const steps = stepsOffered(state, copyOf, (offers) => offerAll(model, state, offers))
      if (model.protocol.start === 'ledger') for (const { to } of steps) reportOffsets(model, to)
      return steps
    },
    violationIn: (state) => violationIn(model, state) ?? staleLastIn(model, state),
    isDone: (state) => isDone(model, state),
    describe: ({ store, group, log }) => {
      const { effects, deadLetters, outbox, parked } = store
      const offsets = group.map(({ offset }) => offset)
      return JSON.stringify({ effects, deadLetters, outbox, parked, log, offsets })
    },
  }
}

function offerAll(model: Model, state: State, offers: Offers<State>): void {
  for (const ownership of ownershipsIn(state)) {
    offerOwnership(model, state, ownership, offers)
    if (!isAcquired(ownership.view)) continue
    offerHandling(model, state, ownership, offers)
    offerSettling(model, state, ownership, offers)
    if (model.protocol.start === 'group offset') offerOffsetCommit(model, state, ownership, offers)
  }
  for (const index of state.members.keys()) {
    offerLateRequest(model, state, index, offers)
    if (index === state.frozen) continue
    offerCommits(model, state, index, offers)
    offerArrivals(model, state, index, offers)
  }
  offerFaults(model, state, offers)
}
