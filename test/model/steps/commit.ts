import type { Offers } from '../machine.ts'
import { at, type Model } from '../model.ts'
import { copyOf, memberName, type Result, type State } from '../state.ts'
import { commitUnit, refusalOf } from '../store.ts'
import { begin, commit, giveUp, possibleUnits } from '../unit.ts'

/**
 * A unit is one request to the store. What finishes while it is under way is left for the next one, so making a unit
 * and committing it is one step; only a transaction that is held open, or an answer that does not come, lies between.
 */
export function offerCommits(
  model: Model,
  state: State,
  index: number,
  offers: Offers<State>,
): void {
  const { unit } = at(state.members, index)
  if (unit !== null) return offerUnitUnderWay(model, state, index, unit.results, offers)
  const name = memberName(index)
  for (const results of possibleUnits(model, state, index)) {
    const what = namesOf(results)
    if (isHeldOpen(model)) {
      if (isLocked(model, state, results)) continue
      offers.step(`${name} begins a transaction for ${what}`, (draft) =>
        beginOpen(model, draft, index, results),
      )
      continue
    }
    offers.step(`${name} commits ${what}`, (draft) => {
      begin(model, draft, index, results)
      return commit(model, draft, index)
    })
    if (!canLoseAnswer(state, index)) continue
    offers.fault(`${name} commits ${what}, and no answer comes`, (draft) => {
      begin(model, draft, index, results)
      loseAnswer(draft, index)
    })
  }
}

function offerUnitUnderWay(
  model: Model,
  state: State,
  index: number,
  results: readonly Result[],
  offers: Offers<State>,
): void {
  const what = `the unit of ${namesOf(results)}`
  const name = memberName(index)
  const isRepeated = !isHeldOpen(model)
  offers.step(`${name} ${isRepeated ? 'repeats' : 'commits'} ${what}`, (draft) =>
    commit(model, draft, index),
  )
  if (!canLoseAnswer(state, index)) return
  offers.fault(`${name} commits ${what}, and no answer comes`, (draft) => loseAnswer(draft, index))
}

/** A request that its sender has given up may arrive all the same, at any time. */
export function offerLateRequest(
  model: Model,
  state: State,
  index: number,
  offers: Offers<State>,
): void {
  if (at(state.members, index).lateRequest === null) return
  offers.fault(`the store executes the unanswered request of ${memberName(index)}`, (draft) => {
    const member = at(draft.members, index)
    const { lateRequest } = member
    member.lateRequest = null
    return lateRequest === null ? undefined : refusalOf(commitUnit(model, draft, lateRequest))
  })
}

function canLoseAnswer({ left, members }: State, index: number): boolean {
  return left.lostAnswer > 0 && at(members, index).lateRequest === null
}

function loseAnswer({ left, members }: State, index: number): void {
  const member = at(members, index)
  left.lostAnswer -= 1
  const { unit } = member
  if (unit === null) return
  const { results, changes, versions } = unit
  member.lateRequest = copyOf({ results, changes, versions })
}

/** Whether the protocol holds a transaction open while the owner works. */
function isHeldOpen({ protocol }: Model): boolean {
  return protocol.fence === 'locked at begin' || protocol.fence === 'read at begin'
}

function isLocked(model: Model, { store }: State, results: readonly Result[]): boolean {
  return results.some(
    ({ message }) => at(store.ledger, model.message(message).partition).lockedBy !== null,
  )
}

function beginOpen(model: Model, state: State, index: number, results: readonly Result[]): void {
  begin(model, state, index, results)
  const member = at(state.members, index)
  const { unit } = member
  if (unit === null) return
  const rows = unit.changes.map(({ partition }) => at(state.store.ledger, partition))
  if (unit.changes.some(({ epoch }, position) => at(rows, position).epoch !== epoch)) {
    member.unit = null
    giveUp(model, state, index, unit)
  } else if (model.protocol.fence === 'locked at begin') {
    for (const row of rows) row.lockedBy = index
  }
}

function namesOf(results: readonly Result[]): string {
  return results
    .map(({ message, outcome }) => `m${message}${outcome === 'applied' ? '' : ` (${outcome})`}`)
    .join(', ')
}
