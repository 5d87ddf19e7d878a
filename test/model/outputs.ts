import { at, type Model } from './model.ts'
import {
  type Member,
  type Result,
  type Send,
  type State,
  type StoredOutput,
  viewOf,
} from './state.ts'
import { hasOutput } from './store.ts'

/** Units of which the store can be told that their outputs are out, ascending. */
export function unitsToTell({ protocol }: Model, member: Member, partition: number): number[] {
  const view = at(member.views, partition)
  if (view === null) return []
  const waiting = currentSends(member, partition).map(({ unit }) => unit)
  const acknowledged = view.acknowledged.map(({ unit }) => unit)
  const told =
    protocol.settles === 'range when sent'
      ? [...waiting, ...acknowledged]
      : acknowledged.filter((unit) => !waiting.includes(unit))
  return [...new Set(told)].sort((a, b) => a - b)
}

/** What its view has sent and not seen acknowledged. */
export function currentSends({ sends }: Member, partition: number): readonly Send[] {
  return at(sends, partition).filter(({ isOrphan }) => !isOrphan)
}

/** What is to be published now that these results of a partition are committed. */
export function outputsToSend(
  model: Model,
  state: State,
  index: number,
  partition: number,
  results: readonly Result[],
): readonly Send[] {
  const { epoch } = viewOf(state, index, partition)
  const { unit } = at(state.store.ledger, partition)
  return results.flatMap((result) => {
    if (hasOutput(result)) {
      const isSent = model.protocol.publishes === 'when handled'
      return isSent ? [] : [{ unit, output: result.message, epoch, isOrphan: false }]
    }
    if (result.outcome !== 'duplicate') return []
    return outputsOfOriginal(model, state, index, result.message).map((output) => {
      return { ...output, epoch, isOrphan: false }
    })
  })
}

/** What a duplicate makes go out again: nothing, in what Pollux does. */
function outputsOfOriginal(
  model: Model,
  state: State,
  index: number,
  duplicate: number,
): readonly StoredOutput[] {
  const { store, members } = state
  const { duplicates } = model.protocol
  const { partition } = model.message(duplicate)
  const member = at(members, index)
  const output = model
    .copiesOf(duplicate)
    .find((copy) => at(store.effects, copy) + at(store.deadLetters, copy) > 0)
  if (duplicates === 'skip' || output === undefined) return []
  if (currentSends(member, partition).some((send) => send.output === output)) return []
  const row = at(store.outbox, partition).find(({ outputs }) => outputs.includes(output))
  const { acknowledged } = viewOf(state, index, partition)
  const isAcknowledged = acknowledged.some((one) => one.output === output)
  if (duplicates === 'emit unsettled' && (row === undefined || isAcknowledged)) return []
  return [{ unit: row?.unit ?? 0, output }]
}
