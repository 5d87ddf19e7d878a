import { at, type Model } from './model.ts'
import {
  changesValue,
  copyOf,
  type LedgerChange,
  type Result,
  type State,
  type Store,
  type Unit,
} from './state.ts'

/** What the store answers. Nothing is written unless it is `committed`. */
export type Answer =
  | { readonly outcome: 'committed' | 'fenced' | 'data error' }
  | { readonly outcome: 'conflict'; readonly keys: ReadonlySet<number> }

/** An answer as traces show it; undefined when the unit was committed. */
export function refusalOf({ outcome }: Answer): string | undefined {
  return outcome === 'committed' ? undefined : outcome
}

/** Checks a unit and applies it, as one transaction. */
export function commitUnit(model: Model, state: State, unit: Unit): Answer {
  const { store } = state
  if (!unit.changes.every((change) => isUnder(model, store, change))) return { outcome: 'fenced' }
  const isRefused = unit.results.some(
    ({ message, outcome }) => outcome === 'applied' && model.message(message).nature === 'poison',
  )
  if (isRefused) return { outcome: 'data error' }
  const keys = conflictsOf(model, store, unit)
  if (keys.size > 0) return { outcome: 'conflict', keys }
  if (model.faults.failOver > 0) state.storeBefore = copyOf(store)
  applyUnit(model, store, unit)
  return { outcome: 'committed' }
}

/** The ledger row has the epoch and the number that the unit was made under. */
function isUnder({ protocol }: Model, { ledger }: Store, change: LedgerChange): boolean {
  const { epoch, unit } = at(ledger, change.partition)
  if (protocol.fence === 'at commit' && epoch !== change.epoch) return false
  return !protocol.hasUnitNumber || unit === change.unit
}

/** The keys of marks that are there already, of values with another version, and of parked rows that are gone. */
function conflictsOf(model: Model, store: Store, { results, versions }: Unit): Set<number> {
  const keys = new Set<number>()
  const brought = new Set<string>()
  for (const { message, outcome } of results) {
    const { id, partition } = model.message(message)
    if (outcome === 'drained' && !at(store.parked, partition).includes(message))
      keys.add(model.keyOf(message))
    if (outcome !== 'applied' && outcome !== 'drained') continue
    const isSecond = brought.has(id) || store.marks.includes(id)
    if (hasMarks(model) && model.protocol.secondMark === 'conflict' && isSecond)
      keys.add(model.keyOf(message))
    brought.add(id)
  }
  for (const [key, version] of versions.entries())
    if (version !== null && version !== at(store.values, key).length) keys.add(key)
  return keys
}

function hasMarks({ protocol }: Model): boolean {
  return protocol.idempotency === 'event id'
}

function applyUnit(model: Model, store: Store, { results, changes }: Unit): void {
  for (const result of results) applyResult(model, store, result)
  for (const change of changes) {
    const row = at(store.ledger, change.partition)
    row.next = change.next
    row.above = change.above
    row.unit += 1
    row.lockedBy = null
    const outputs = results
      .filter(({ message }) => model.message(message).partition === change.partition)
      .filter(hasOutput)
      .map(({ message }) => message)
    deleteOutputs(store, change.partition, (unit) => unit <= change.acknowledged)
    if (outputs.length > 0) at(store.outbox, change.partition).push({ unit: row.unit, outputs })
  }
}

function applyResult(model: Model, store: Store, result: Result): void {
  const { message, outcome } = result
  const { id, partition } = model.message(message)
  const parked = at(store.parked, partition)
  if (outcome === 'parked' || outcome === 'queued') {
    if (model.protocol.parking === 'unit' && !parked.includes(message)) parked.push(message)
    return
  }
  if (parked.includes(message)) parked.splice(parked.indexOf(message), 1)
  if (outcome === 'duplicate') return
  if (hasMarks(model) && !store.marks.includes(id)) store.marks = [...store.marks, id].sort()
  const counts = outcome === 'dead letter' ? store.deadLetters : store.effects
  counts[message] = at(counts, message) + 1
  if (!model.protocol.hasState || !changesValue(result)) return
  store.values[model.keyOf(message)] = [...result.value]
  at(store.histories, model.keyOf(message)).push(message)
}

/** Dead letters are stored to be published like any other output. */
export function hasOutput({ outcome }: Result): boolean {
  return outcome === 'applied' || outcome === 'drained' || outcome === 'dead letter'
}

/** Deletes the rows of these units. */
export function deleteOutputs(
  { outbox }: Store,
  partition: number,
  isDeleted: (unit: number) => boolean,
): void {
  outbox[partition] = at(outbox, partition).filter(({ unit }) => !isDeleted(unit))
}

/** Writes the row of a parked message. */
export function park({ parked }: Store, partition: number, message: number): void {
  const rows = at(parked, partition)
  if (!rows.includes(message)) rows.push(message)
}
