import { at, type Model } from './model.ts'
import { outputsToSend, unitsToTell } from './outputs.ts'
import { forgetVersions, letGo, startAnew } from './ownership.ts'
import { firstGap, settledWith } from './positions.ts'
import {
  changesValue,
  type LedgerChange,
  type Member,
  type Result,
  type State,
  type Unit,
  type UnitUnderWay,
  viewOf,
} from './state.ts'
import { type Answer, commitUnit, refusalOf } from './store.ts'

/** The selections of finished results that a member may make a unit of. */
export function possibleUnits(
  model: Model,
  state: State,
  index: number,
): readonly (readonly Result[])[] {
  const { finished, isBisecting } = at(state.members, index)
  const { bisect, unit } = model.protocol
  if (isBisecting && bisect === 'any order') return finished.map((result) => [result])
  if (isBisecting || unit === 'one message') return finished.slice(0, 1).map((result) => [result])
  if (unit === 'first finished')
    return finished.map((_, position) => finished.slice(0, position + 1))
  const contiguous = finished.filter(({ message, outcome }) => {
    const { partition, offset } = model.message(message)
    const settled = settledWith(model, viewOf(state, index, partition), finished, partition)
    return outcome === 'drained' || offset < firstGap(settled)
  })
  return contiguous.length > 0 ? [contiguous] : []
}

/** Takes results out of what has finished, as the unit under way. */
export function begin(
  model: Model,
  state: State,
  index: number,
  selected: readonly Result[],
): void {
  const member = at(state.members, index)
  const messages = new Set(selected.map(({ message }) => message))
  const results = member.finished.filter(({ message }) => messages.has(message))
  const partitions = new Set(results.map(({ message }) => model.message(message).partition))
  const keys = new Set(results.filter(changesValue).map(({ message }) => model.keyOf(message)))
  member.finished = member.finished.filter(({ message }) => !messages.has(message))
  member.unit = {
    results,
    changes: [...partitions]
      .sort((a, b) => a - b)
      .map((partition) => changeOf(model, state, index, partition, results)),
    versions: member.versions.map((version, key) => (keys.has(key) ? version : null)),
    held: [...partitions],
    isEnded: false,
  }
}

function changeOf(
  model: Model,
  state: State,
  index: number,
  partition: number,
  results: readonly Result[],
): LedgerChange {
  const view = viewOf(state, index, partition)
  const settled = settledWith(model, view, results, partition)
  const next = firstGap(settled)
  const told =
    model.protocol.settles === 'range when acknowledged'
      ? unitsToTell(model, at(state.members, index), partition)
      : []
  return {
    partition,
    epoch: view.epoch,
    unit: view.unit,
    next,
    above: model.protocol.keepsRanges ? settled.filter((offset) => offset > next) : [],
    acknowledged: told.at(-1) ?? 0,
  }
}

/** Sends the unit under way to the store, and does what its answer asks for. Returns it when it is not that all is well. */
export function commit(model: Model, state: State, index: number): string | undefined {
  const member = at(state.members, index)
  const { unit } = member
  if (unit === null) throw new Error('There is no unit to commit.')
  const answer = answerTo(model, state, unit)
  unlock(state, index)
  member.unit = null
  if (answer.outcome === 'committed') finish(model, state, index, unit)
  else if (answer.outcome === 'fenced') giveUp(model, state, index, unit)
  else if (answer.outcome === 'conflict') retry(model, state, index, unit, answer.keys)
  else isolate(model, member, unit)
  return refusalOf(answer)
}

function answerTo(model: Model, state: State, unit: UnitUnderWay): Answer {
  if (unit.isEnded) return { outcome: 'fenced' }
  if (model.protocol.lostAnswer === 'read the row' && hasAdvanced(state, unit))
    return { outcome: 'committed' }
  return commitUnit(model, state, unit)
}

/** Nobody else can have raised the number under this epoch. */
function hasAdvanced({ store }: State, { changes }: Unit): boolean {
  return changes.every(({ partition, epoch, unit }) => {
    const row = at(store.ledger, partition)
    return row.epoch === epoch && row.unit === unit + 1
  })
}

/** Ends the transaction that holds ledger rows. */
export function unlock({ store }: State, index: number): void {
  for (const row of store.ledger) if (row.lockedBy === index) row.lockedBy = null
}

function finish(model: Model, state: State, index: number, unit: UnitUnderWay): void {
  const member = at(state.members, index)
  for (const { message, ...result } of unit.results.filter(changesValue)) {
    const key = model.keyOf(message)
    member.versions[key] = result.value.length
  }
  forgetVersions(model, member)
  for (const { partition, acknowledged } of unit.changes) {
    if (!unit.held.includes(partition)) continue
    const view = viewOf(state, index, partition)
    const results = unit.results.filter(
      ({ message }) => model.message(message).partition === partition,
    )
    view.settled = settledWith(model, view, results, partition)
    view.unit = at(state.store.ledger, partition).unit
    view.acknowledged = view.acknowledged.filter((output) => output.unit > acknowledged)
    view.parked = parkedAfter(view.parked, results)
    at(member.sends, partition).push(...outputsToSend(model, state, index, partition, results))
  }
  if (member.finished.length === 0) member.isBisecting = false
}

function parkedAfter(parked: readonly number[], results: readonly Result[]): number[] {
  const isParked = ({ outcome }: Result): boolean => outcome === 'parked' || outcome === 'queued'
  const gone = new Set(results.filter((result) => !isParked(result)).map(({ message }) => message))
  const added = results.filter(isParked).map(({ message }) => message)
  return [...new Set([...parked, ...added])].filter((message) => !gone.has(message))
}

/** The unit was fenced: before its partitions are acquired again, the group has to say that they are still ours. */
export function giveUp(model: Model, state: State, index: number, unit: UnitUnderWay): void {
  if (model.protocol.fenced === 'let go') letGo(model, state, index, unit.held, unit.results)
  else startAnew(model, state, index, unit.held, { mustProve: true, dropped: unit.results })
}

/** Somebody else has moved what the unit was built on. */
function retry(
  model: Model,
  state: State,
  index: number,
  unit: UnitUnderWay,
  keys: ReadonlySet<number>,
): void {
  if (model.protocol.conflict === 'partition') {
    startAnew(model, state, index, unit.held, { mustProve: false, dropped: unit.results })
    return
  }
  const member = at(state.members, index)
  member.finished = [...unit.results, ...member.finished].filter(
    ({ message }) => !keys.has(model.keyOf(message)),
  )
  for (const partition of unit.held)
    viewOf(state, index, partition).parked = [...at(state.store.parked, partition)]
  forgetVersions(model, member)
}

/** A message is refused by the store: its unit is tried message by message, and what then stands alone is given up. */
function isolate(model: Model, member: Member, unit: UnitUnderWay): void {
  member.isBisecting = true
  member.finished = [...unit.results, ...member.finished]
  const [refused] = unit.results
  if (refused === undefined || unit.results.length > 1) return
  const { message } = refused
  const isBuiltOnIt = (other: number): boolean =>
    model.protocol.hasState
      ? model.keyOf(other) === model.keyOf(message)
      : model.laneOf(other) === model.laneOf(message)
  const rest = member.finished
    .slice(1)
    .filter((result) => !model.protocol.discardsLane || !isBuiltOnIt(result.message))
  member.finished = [{ message, outcome: 'dead letter', value: [] }, ...rest]
  forgetVersions(model, member)
}
