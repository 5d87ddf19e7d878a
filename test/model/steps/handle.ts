import type { Offers } from '../machine.ts'
import { at, type Model } from '../model.ts'
import {
  changesValue,
  inWork,
  type Member,
  type Ownership,
  type Result,
  type State,
  viewOf,
} from '../state.ts'
import { park } from '../store.ts'

/** A handler is atomic here: it loads, runs and finishes at once. Waiting before the commit gives the same races. */
export function offerHandling(
  model: Model,
  state: State,
  { member: index, partition, view, name }: Ownership,
  offers: Offers<State>,
): void {
  const member = at(state.members, index)
  for (const message of at(model.partitions, partition)) {
    if (view.settled.includes(model.message(message).offset)) continue
    if (!isNextInLane(model, member, view.settled, message)) continue
    if (model.protocol.claims && isClaimed(model, member, message)) continue
    offers.step(`${name} handles m${message}`, (draft) => handle(model, draft, index, message))
  }
  for (const message of parkedHeads(model, member, view.parked)) {
    offers.step(`${name} handles m${message} again, which was parked`, (draft) =>
      drain(model, draft, index, message),
    )
  }
}

/** The message is not in work, and each earlier one of its lane is, or is settled. */
function isNextInLane(
  model: Model,
  member: Member,
  settled: readonly number[],
  message: number,
): boolean {
  const isStarted = (one: number): boolean =>
    settled.includes(model.message(one).offset) ||
    inWork(member).some((result) => result.message === one)
  return !isStarted(message) && model.earlierInLane(message).every(isStarted)
}

/** A copy of it is in work, whatever its partition. */
function isClaimed(model: Model, member: Member, message: number): boolean {
  return inWork(member).some(
    (result) => result.outcome !== 'duplicate' && model.copiesOf(message).includes(result.message),
  )
}

/** The first parked message of each lane, unless the lane has something in work that has to come first. */
function parkedHeads(model: Model, member: Member, parked: readonly number[]): readonly number[] {
  const work = inWork(member)
  const waiting = parked.filter((message) => !work.some((result) => result.message === message))
  const isHead = (message: number, index: number): boolean =>
    waiting.findIndex((other) => model.laneOf(other) === model.laneOf(message)) === index
  const isBusy = (message: number): boolean =>
    model.protocol.parkedBy === 'lane' && isParking(model, work, message)
  return waiting.filter((message, index) => isHead(message, index) && !isBusy(message))
}

/** The lane has a result that will be a parked row. */
function isParking(model: Model, work: readonly Result[], message: number): boolean {
  return work.some(
    (result) =>
      (result.outcome === 'parked' || result.outcome === 'queued') &&
      model.laneOf(result.message) === model.laneOf(message),
  )
}

function handle(model: Model, state: State, index: number, message: number): void {
  const { finished } = at(state.members, index)
  const { partition, nature } = model.message(message)
  const isParked = at(state.store.parked, partition).includes(message)
  if (isBehindParked(model, state, index, message)) {
    finished.push({ message, outcome: 'queued', value: [] })
    if (model.protocol.parking === 'handler') park(state.store, partition, message)
  } else if (isMarked(model, state, message)) {
    finished.push({ message, outcome: 'duplicate', value: [] })
  } else if (nature === 'parking' && !isParked) {
    finished.push({ message, outcome: 'parked', value: [] })
    if (model.protocol.parking === 'handler') park(state.store, partition, message)
  } else finished.push(apply(model, state, index, message, 'applied'))
}

function drain(model: Model, state: State, index: number, message: number): void {
  at(state.members, index).finished.push(
    isMarked(model, state, message)
      ? { message, outcome: 'duplicate', value: [] }
      : apply(model, state, index, message, 'drained'),
  )
}

function isMarked(model: Model, { store }: State, message: number): boolean {
  return (
    model.protocol.idempotency === 'event id' && store.marks.includes(model.message(message).id)
  )
}

function isBehindParked(model: Model, state: State, index: number, message: number): boolean {
  const { partition } = model.message(message)
  const isOfLane = (other: number): boolean => model.laneOf(other) === model.laneOf(message)
  if (model.protocol.parkedBy === 'store') return at(state.store.parked, partition).some(isOfLane)
  const work = inWork(at(state.members, index))
  const { parked } = viewOf(state, index, partition)
  return (
    isParking(model, work, message) ||
    parked.some((other) => isOfLane(other) && !work.some((result) => result.message === other))
  )
}

/** The handler sees the value that the last one of its key has made, committed or not; else the store's. */
function apply(
  model: Model,
  state: State,
  index: number,
  message: number,
  outcome: 'applied' | 'drained',
): Result {
  const member = at(state.members, index)
  if (model.protocol.publishes === 'when handled') sendUnstored(model, state, index, message)
  if (!model.protocol.hasState) return { message, outcome, value: [] }
  const key = model.keyOf(message)
  const last = inWork(member).findLast(
    (result) => changesValue(result) && model.keyOf(result.message) === key,
  )
  const value = last?.value ?? at(state.store.values, key)
  member.versions[key] ??= value.length
  return { message, outcome, value: [...value, message] }
}

function sendUnstored(model: Model, state: State, index: number, output: number): void {
  const { partition } = model.message(output)
  const { epoch, unit } = viewOf(state, index, partition)
  at(at(state.members, index).sends, partition).push({ unit, output, epoch, isOrphan: false })
}
