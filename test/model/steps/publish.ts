import type { Offers } from '../machine.ts'
import { at, type Model } from '../model.ts'
import { unitsToTell } from '../outputs.ts'
import { startAnew } from '../ownership.ts'
import { memberName, messageNames, type Ownership, type State, viewOf } from '../state.ts'
import { deleteOutputs } from '../store.ts'

/**
 * Outputs are sent as soon as they are stored, so what has not arrived is on its way: a death may lose it or let any
 * first part of it arrive. They arrive in the order of their sending, also when the view that sent them is gone.
 */
export function offerArrivals(
  model: Model,
  state: State,
  index: number,
  offers: Offers<State>,
): void {
  const member = at(state.members, index)
  const name = memberName(index)
  for (const [partition, sends] of member.sends.entries()) {
    const [first] = sends
    if (first === undefined) continue
    const what = `output m${first.output} of ${name}.p${partition}`
    offers.step(`the broker appends ${what}`, (draft) => arrive(model, draft, index, partition))
    if (first.isOrphan) {
      offers.step(`${what} and what was to follow it are dropped unsent`, (draft) => {
        const { sends } = at(draft.members, index)
        sends[partition] = at(sends, partition).filter(
          ({ epoch, isOrphan }) => !isOrphan || epoch !== first.epoch,
        )
      })
    }
    if (state.left.failedSend > 0) offerFailures(model, state, index, partition, offers)
  }
}

function offerFailures(
  model: Model,
  state: State,
  index: number,
  partition: number,
  offers: Offers<State>,
): void {
  const sends = at(at(state.members, index).sends, partition)
  const name = `${memberName(index)}.p${partition}`
  if (model.protocol.afterFailedSend === 'not waited for') {
    offers.fault(`output m${at(sends, 0).output} of ${name} is lost, and sent again`, (draft) => {
      const queue = at(at(draft.members, index).sends, partition)
      queue.push(...queue.splice(0, 1))
      draft.left.failedSend -= 1
    })
    return
  }
  for (const count of sends.keys()) {
    const arrived = sends.slice(0, count + 1).map(({ output }) => output)
    offers.fault(
      `${name} is not told that ${messageNames(arrived)} arrived, and sends again`,
      (draft) => {
        for (const output of arrived) append(model, draft, output)
        draft.left.failedSend -= 1
      },
    )
  }
}

function arrive(model: Model, state: State, index: number, partition: number): void {
  const member = at(state.members, index)
  const send = at(member.sends, partition).shift()
  if (send === undefined) return
  append(model, state, send.output)
  if (send.isOrphan) return
  const { unit, output } = send
  member.views[partition]?.acknowledged.push({ unit, output })
}

/** Of several copies in the log only the last one is kept; its place matters only where the newest has to be last. */
export function append(model: Model, { log }: State, output: number): void {
  const lane = model.laneOf(output)
  const others = at(log, lane).filter((other) => other !== output)
  log[lane] = [...others, output]
  if (!model.expectsNewestLast) log[lane].sort((a, b) => a - b)
}

/** The store is told what has arrived. A unit tells it, too; this is for when none follows. */
export function offerSettling(
  model: Model,
  state: State,
  { member: index, partition, view, name }: Ownership,
  offers: Offers<State>,
): void {
  const units = unitsToTell(model, at(state.members, index), partition)
  const last = units.at(-1)
  if (last === undefined) return
  const { epoch } = at(state.store.ledger, partition)
  if (model.protocol.fencesSettling && epoch !== view.epoch) {
    // It is not told so, and need not be: the next look at its rows tells it.
    offers.step(`${name} tells the store in vain, and finds another ledger row`, (draft) =>
      startAnew(model, draft, index, [partition], { mustProve: true }),
    )
    return
  }
  const isRange = model.protocol.settles !== 'each when acknowledged'
  const what = isRange ? `up to unit ${last}` : `of units ${units.join(', ')}`
  offers.step(`${name} tells the store that outputs ${what} are acknowledged`, (draft) => {
    const isTold = (unit: number): boolean => (isRange ? unit <= last : units.includes(unit))
    deleteOutputs(draft.store, partition, isTold)
    const told = viewOf(draft, index, partition)
    told.acknowledged = told.acknowledged.filter(({ unit }) => !isTold(unit))
  })
}
