import type { Offers } from '../machine.ts'
import { at, type Model } from '../model.ts'
import { letGo } from '../ownership.ts'
import { idleMember, memberName, messageNames, newView, type State } from '../state.ts'
import { unlock } from '../unit.ts'
import { append } from './publish.ts'

/** What may go wrong at any moment, as long as the configuration has some left. */
export function offerFaults(model: Model, state: State, offers: Offers<State>): void {
  const { left } = state
  if (left.move > 0) offerMoves(model, state, offers)
  if (left.kill > 0)
    for (const index of state.members.keys()) offerKills(model, state, index, offers)
  if (left.freeze > 0)
    for (const index of state.members.keys()) offerFreeze(model, state, index, offers)
  if (left.cleanUp > 0 && state.store.marks.length > 0) {
    offers.fault('the window passes, and clean-up deletes marks', (draft) => {
      draft.left.cleanUp -= 1
      cleanUp(model, draft)
    })
  }
  const isIdle = state.store.ledger.every(({ lockedBy }) => lockedBy === null)
  if (left.failOver > 0 && state.storeBefore !== null && isIdle) {
    offers.fault('the database fails over, and its last commit is lost', (draft) => {
      draft.left.failOver -= 1
      draft.store = draft.storeBefore ?? draft.store
      draft.storeBefore = null
    })
  }
}

function offerMoves(model: Model, state: State, offers: Offers<State>): void {
  for (const [partition, { owner }] of state.group.entries()) {
    const to = 1 - owner
    if (!canTake(state, to, partition)) continue
    const names = `${memberName(to)}, and ${memberName(owner)} does not notice`
    offers.fault(`the group moves p${partition} to ${names}`, (draft) => {
      draft.left.move -= 1
      assign(model, draft, partition, to)
    })
  }
}

function canTake({ frozen, members }: State, to: number, partition: number): boolean {
  return to !== frozen && at(members, to).views[partition] === null
}

function assign(model: Model, state: State, partition: number, owner: number): void {
  // A partition that comes back is lost first, with its old work.
  letGo(model, state, owner, [partition])
  const assignment = at(state.group, partition)
  assignment.owner = owner
  assignment.generation += 1
  at(state.members, owner).views[partition] = newView(assignment.generation)
}

/** What was on its way arrives up to some output, or not at all. */
function offerKills(model: Model, state: State, index: number, offers: Offers<State>): void {
  const member = at(state.members, index)
  if (index === state.frozen || !isBusy(state, index)) return
  for (const arrived of firstParts(member.sends.map((sends) => sends.map(({ output }) => output))))
    for (const to of heirsOf(state, index)) {
      const then = to === index ? 'comes back' : `${memberName(to)} takes over`
      const what = arrived.flat().length > 0 ? ` with ${messageNames(arrived.flat())} sent` : ''
      offers.fault(`${memberName(index)} is killed${what}, and ${then}`, (draft) => {
        draft.left.kill -= 1
        for (const output of arrived.flat()) append(model, draft, output)
        unlock(draft, index)
        const { lateRequest } = at(draft.members, index)
        draft.members[index] = { ...idleMember(model), lateRequest }
        for (const [partition, { owner }] of draft.group.entries())
          if (owner === index) assign(model, draft, partition, to)
      })
    }
}

function isBusy({ members }: State, index: number): boolean {
  const { views, sends } = at(members, index)
  return views.some((view) => view !== null) || sends.some((waiting) => waiting.length > 0)
}

/** To an idle member the partitions go as to a restarted one, so one of the two is enough. */
function heirsOf(state: State, index: number): readonly number[] {
  const other = 1 - index
  if (other === state.frozen) return [index]
  return isBusy(state, other) ? [index, other] : [other]
}

/** Each way to take some first items of each list. */
function firstParts(lists: readonly (readonly number[])[]): number[][][] {
  const [list, ...rest] = lists
  if (list === undefined) return [[]]
  const ends = [...list.keys(), list.length]
  return ends.flatMap((end) => firstParts(rest).map((parts) => [list.slice(0, end), ...parts]))
}

function offerFreeze(model: Model, state: State, index: number, offers: Offers<State>): void {
  if (!isBusy(state, index) || state.frozen !== null) return
  offers.fault(`${memberName(index)} stops for ever, and its partitions move`, (draft) => {
    draft.left.freeze -= 1
    draft.frozen = index
    for (const [partition, { owner }] of draft.group.entries())
      if (owner === index) assign(model, draft, partition, 1 - index)
  })
}

function cleanUp(model: Model, { store }: State): void {
  store.marks = store.marks.filter((id) => {
    if (model.protocol.cleanUp === 'all') return false
    const message = model.messages.find(
      (one) =>
        model.message(one).id === id && at(store.effects, one) + at(store.deadLetters, one) > 0,
    )
    if (message === undefined) return false
    const { partition, offset } = model.message(message)
    return offset >= at(store.ledger, partition).next
  })
}
