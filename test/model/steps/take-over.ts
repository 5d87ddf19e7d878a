import type { Offers } from '../machine.ts'
import { at, type Model } from '../model.ts'
import { letGo, startAnew } from '../ownership.ts'
import { isAcquired, memberName, type Ownership, type State, viewOf } from '../state.ts'
import { unlock } from '../unit.ts'

/** How a member comes to a partition, and how it learns that it has lost it. */
export function offerOwnership(
  model: Model,
  state: State,
  ownership: Ownership,
  offers: Offers<State>,
): void {
  const { member, partition, view, isOurs, name } = ownership
  if (!isOurs) {
    offers.step(`${name} learns that the group has given it to somebody else`, (draft) =>
      letGo(model, draft, member, [partition]),
    )
  }
  if (view.mustProve) {
    if (!isOurs) return
    offers.step(`${name} proves by an offset commit that it is still the owner`, (draft) => {
      viewOf(draft, member, partition).mustProve = false
    })
  } else if (!isAcquired(view)) offerAcquire(model, state, ownership, offers)
  else if (hasMovedUnnoticed(model, state, ownership)) {
    offers.step(`${name} finds another ledger row after the fail-over`, (draft) =>
      startAnew(model, draft, member, [partition], { mustProve: true }),
    )
  }
}

/** Two steps: whatever happens between them, the second one sees all that an older owner could still commit. */
function offerAcquire(
  model: Model,
  state: State,
  { member, partition, view, name }: Ownership,
  offers: Offers<State>,
): void {
  const { lockedBy } = at(state.store.ledger, partition)
  const readsFirst = model.protocol.acquire === 'read, then bump'
  if (view.left === null && (readsFirst || view.epoch > 0)) {
    offers.step(`${name} reads its rows`, (draft) => {
      readRows(model, draft, member, partition)
      sendLeft(draft, member, partition)
    })
  } else if (lockedBy === null || lockedBy === member) {
    offers.step(`${name} bumps the epoch`, (draft) => {
      const acquired = viewOf(draft, member, partition)
      const row = at(draft.store.ledger, partition)
      row.epoch = newEpoch(model, draft, partition)
      acquired.epoch = row.epoch
      acquired.unit = row.unit
      sendLeft(draft, member, partition)
    })
  } else if (model.protocol.limitsTransactions) {
    offers.step(`the database ends the transaction of ${memberName(lockedBy)}`, (draft) => {
      const { unit } = at(draft.members, lockedBy)
      if (unit !== null) unit.isEnded = true
      unlock(draft, lockedBy)
    })
  }
}

function newEpoch(model: Model, { store, lastEpochs }: State, partition: number): number {
  const last =
    model.protocol.epochs === 'never twice'
      ? at(lastEpochs, partition)
      : at(store.ledger, partition).epoch
  lastEpochs[partition] = last + 1
  return last + 1
}

function readRows(model: Model, draft: State, member: number, partition: number): void {
  const { store, group } = draft
  const { protocol } = model
  const view = viewOf(draft, member, partition)
  const { next, above } = at(store.ledger, partition)
  const start = protocol.start === 'ledger' ? next : at(group, partition).offset
  view.settled = at(model.partitions, partition)
    .map((message) => model.message(message).offset)
    .filter(
      (offset) =>
        offset < start || (protocol.knowsPositions && (offset < next || above.includes(offset))),
    )
  view.unit = at(store.ledger, partition).unit
  view.parked = [...at(store.parked, partition)]
  view.left = protocol.recovers
    ? at(store.outbox, partition).flatMap(({ unit, outputs }) =>
        outputs.map((output) => ({ unit, output })),
      )
    : []
}

/** Once it is acquired, what earlier owners have left goes out first of all. */
function sendLeft({ members }: State, index: number, partition: number): void {
  const { views, sends } = at(members, index)
  const view = at(views, partition)
  if (view === null || view.left === null || view.epoch === 0) return
  const { left, epoch } = view
  view.left = []
  at(sends, partition).push(...left.map((output) => ({ ...output, epoch, isOrphan: false })))
}

/** The database has failed over, and the row is not the one that the owner left. */
function hasMovedUnnoticed(
  model: Model,
  { store, left, members }: State,
  { member, partition, view }: Ownership,
): boolean {
  if (!model.protocol.verifiesAfterFailOver || left.failOver === model.faults.failOver) return false
  const { epoch, unit } = at(store.ledger, partition)
  // With a unit under way the number may be one higher; repeating it will tell.
  return epoch !== view.epoch || (at(members, member).unit === null && unit !== view.unit)
}
