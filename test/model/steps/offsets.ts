import type { Offers } from '../machine.ts'
import { at, type Model } from '../model.ts'
import { currentSends } from '../outputs.ts'
import { firstGap, settledWith } from '../positions.ts'
import { inWork, type Ownership, ownershipsIn, type State } from '../state.ts'

/** The owner commits the position that everything before has been seen to. The group refuses it from others. */
export function offerOffsetCommit(
  model: Model,
  state: State,
  ownership: Ownership,
  offers: Offers<State>,
): void {
  const { partition, isOurs, name } = ownership
  const position = positionOf(model, state, ownership)
  if (!isOurs || position <= at(state.group, partition).offset) return
  offers.step(`${name} commits the offset ${position}`, (draft) => {
    at(draft.group, partition).offset = position
  })
}

/**
 * Where work starts at the ledger, nobody reads the group's offset. Then it is committed at once: that is the strictest
 * moment, and saves the states in between.
 */
export function reportOffsets(model: Model, state: State): void {
  for (const ownership of ownershipsIn(state)) {
    const assignment = at(state.group, ownership.partition)
    if (ownership.isOurs)
      assignment.offset = Math.max(assignment.offset, positionOf(model, state, ownership))
  }
}

/** The lowest offset that is not done with. */
function positionOf(
  model: Model,
  { members }: State,
  { member: index, partition, view }: Ownership,
): number {
  const { offsetAfter } = model.protocol
  const member = at(members, index)
  const sent = currentSends(member, partition)
  const waiting = {
    handling: [],
    commit: [],
    acknowledgement: sent,
    settling: [...sent, ...view.acknowledged],
  }[offsetAfter]
  const offsets = waiting.map(({ output }) => model.message(output).offset)
  const done = settledWith(model, view, offsetAfter === 'handling' ? inWork(member) : [], partition)
  return Math.min(firstGap(done), ...offsets)
}
