import { type Machine, type Offers, stepsOffered, type Violation } from './machine.ts'
import { at } from './model.ts'
import { copyOf, memberName } from './state.ts'

/** How a service takes a partition over whose offset somebody else may have set, as a list of choices. */
export interface ResetProtocol {
  readonly policy: 'stop' | 'ledger' | 'follow'
  /** R4. A foreign position is committed as one of ours before work starts. */
  readonly claimsFirst: boolean
  /** R4. The metadata holds the offset, so a tool that keeps the text and sets another offset is noticed. */
  readonly textHasOffset: boolean
  /** R4. The metadata speaks of the ledger only when that has work of the partition. */
  readonly namesLedgerWithWork: boolean
  /** R4, R8. Before it acts on a foreign position, an owner proves to the group that it still is the owner. */
  readonly provesFirst: boolean
}

/** What Pollux does. */
export const resetProtocol: Omit<ResetProtocol, 'policy'> = {
  claimsFirst: true,
  textHasOffset: true,
  namesLedgerWithWork: true,
  provesFirst: true,
}

export interface ResetFaults {
  /** A process dies. */
  kill: number
  /** The group moves the partition, and its owner does not notice. */
  move: number
  /** Somebody sets the offset of the group, which has no member then. */
  reset: number
}

/** A committed position; without a text it is somebody else's. */
interface Commit {
  readonly offset: number
  readonly text: { readonly offset: number; readonly hasLedger: boolean } | null
}

interface View {
  readonly generation: number
  /** What the group had at the assignment. */
  readonly assigned: Commit | null
  phase: 'assigned' | 'acquired' | 'proven' | 'resolved' | 'working'
  epoch: number
  /** The ledger's position, as the owner knows it. */
  next: number | null
}

export interface ResetState {
  owner: number | null
  generation: number
  group: Commit | null
  readonly ledger: { epoch: number; next: number | null }
  /** How often each message had its effect, and how often it may. */
  readonly effects: number[]
  readonly wanted: number[]
  /** Where the group was set to, until that is followed. */
  reset: number | null
  /** Messages that a reset has passed over. */
  skipped: number
  /** A service that has stopped, and why; `for nothing` when no reset was the reason. */
  wrong: string | null
  hasStopped: boolean
  readonly members: (View | null)[]
  readonly left: ResetFaults
}

type State = ResetState

/** The machine of one partition with so many messages. */
export function resetMachine(
  count: number,
  faults: Partial<ResetFaults>,
  choices: Pick<ResetProtocol, 'policy'> & Partial<ResetProtocol>,
): Machine<State> {
  const protocol = { ...resetProtocol, ...choices }
  return {
    initial: {
      ...{ owner: null, generation: 0, group: null, ledger: { epoch: 0, next: null } },
      effects: Array.from({ length: count }, () => 0),
      wanted: Array.from({ length: count }, () => 1),
      ...{ reset: null, skipped: 0, wrong: null, hasStopped: false, members: [null, null] },
      left: { kill: 0, move: 0, reset: 0, ...faults },
    },
    stepsFrom: (state) =>
      stepsOffered(state, copyOf, (offers) => {
        if (state.hasStopped) return
        for (const index of state.members.keys()) offerMember(protocol, state, index, offers)
        offerFaults(count, state, offers)
      }),
    violationIn,
    isDone: ({ hasStopped, effects, skipped, group }) =>
      hasStopped || (group?.offset === count && effects.every((n, m) => n > 0 || m < skipped)),
    describe: ({ group, ledger, effects }) => JSON.stringify({ group, ledger, effects }),
  }
}

function violationIn({ wrong, effects, wanted, ledger, skipped }: State): Violation | undefined {
  if (wrong !== null) return { kind: wrong, what: wrong }
  const twice = effects.findIndex((number, message) => number > at(wanted, message))
  if (twice !== -1) return { kind: 'effect twice', what: `m${twice} had ${effects[twice]} effects` }
  const missing = effects.findIndex(
    (number, message) => number === 0 && message < (ledger.next ?? 0) && message >= skipped,
  )
  return missing === -1 ? undefined : { kind: 'lost message', what: `m${missing} has no effect` }
}

function isOwner({ owner, generation }: State, index: number, view: View): boolean {
  return owner === index && view.generation === generation
}

function isForeign({ textHasOffset }: ResetProtocol, commit: Commit): boolean {
  return commit.text === null || (textHasOffset && commit.text.offset !== commit.offset)
}

/** Without work in the ledger, work starts where the group is. */
function positionOf({ next, assigned }: View): number {
  return next ?? assigned?.offset ?? 0
}

function ownCommit({ namesLedgerWithWork }: ResetProtocol, view: View): Commit {
  const [offset, { next }] = [positionOf(view), view]
  return { offset, text: { offset, hasLedger: next !== null || !namesLedgerWithWork } }
}

function standingOf(protocol: ResetProtocol, { assigned, next }: View): string {
  if (assigned === null) return 'ledger'
  const foreign = isForeign(protocol, assigned)
  if (next === null) return !foreign && assigned.text?.hasLedger === true ? 'lost' : 'group'
  return foreign && assigned.offset !== next ? 'reset' : 'ledger'
}

function offerMember(
  protocol: ResetProtocol,
  state: State,
  index: number,
  { step }: Offers<State>,
): void {
  const view = at(state.members, index)
  const name = memberName(index)
  if (view === null) {
    if (state.owner !== null) return
    return step(`${name} joins`, (draft) => enter(draft, index))
  }
  const offer = (what: string, change: (draft: State, own: View) => string | void): void =>
    step(`${name} ${what}`, (draft) => change(draft, at(draft.members, index) as View))
  const letGo = (draft: State): string => {
    draft.members[index] = null
    return 'refused'
  }
  switch (view.phase) {
    case 'assigned':
      return offer('acquires', ({ ledger }, own) => {
        ledger.epoch += 1
        Object.assign(own, { epoch: ledger.epoch, next: ledger.next, phase: 'acquired' })
      })
    case 'acquired':
      return offer('proves that it is the owner', (draft, own) => {
        const mustProve = protocol.provesFirst && standingOf(protocol, own) === 'reset'
        if (mustProve && !isOwner(draft, index, own)) return letGo(draft)
        own.phase = 'proven'
      })
    case 'proven':
      return offer('compares', (draft, own) => compare(protocol, draft, index, own))
    case 'resolved':
      return offer('commits over the foreign offset', (draft, own) => {
        if (!isOwner(draft, index, own)) return letGo(draft)
        makeOurs(protocol, draft, own)
        own.phase = 'working'
      })
    case 'working':
      return offerWork(protocol, state, index, view, offer)
  }
}

function offerWork(
  protocol: ResetProtocol,
  state: State,
  index: number,
  view: View,
  offer: (what: string, change: (draft: State, own: View) => string | void) => void,
): void {
  const message = positionOf(view)
  if (message < state.effects.length) {
    offer(`commits m${message}`, (draft, own) => {
      const { ledger, effects } = draft
      if (ledger.epoch === own.epoch) {
        effects[message] = at(effects, message) + 1
        ledger.next = message + 1
        own.next = ledger.next
        return
      }
      if (!isOwner(draft, index, own)) draft.members[index] = null
      else {
        ledger.epoch += 1
        Object.assign(own, { epoch: ledger.epoch, next: ledger.next })
      }
      return 'fenced'
    })
  }
  if (state.group?.offset !== message)
    offer('commits its offset', (draft, own) => {
      if (isOwner(draft, index, own)) makeOurs(protocol, draft, own)
    })
}

function compare(protocol: ResetProtocol, draft: State, index: number, own: View): string {
  const { ledger } = draft
  const standing = standingOf(protocol, own)
  const foreign = own.assigned !== null && isForeign(protocol, own.assigned)
  if (standing === 'lost') draft.wrong = 'stopped for nothing'
  const isReset = draft.reset !== null && own.next !== null && draft.reset !== own.next
  if (standing !== 'reset' && isReset && isOwner(draft, index, own))
    draft.wrong = 'reset passed over'
  if (standing === 'reset' && protocol.policy === 'stop') {
    draft.hasStopped = true
    if (draft.reset === null) draft.wrong = 'stopped for nothing'
    return standing
  }
  if (standing === 'reset' && protocol.policy === 'follow') {
    if (ledger.epoch !== own.epoch) {
      own.phase = 'assigned'
      return 'fenced'
    }
    follow(draft, own.assigned?.offset ?? 0)
    own.next = ledger.next
  }
  own.phase = foreign && protocol.claimsFirst ? 'resolved' : 'working'
  return standing
}

/** Whatever was set from outside has been heard. */
function makeOurs(protocol: ResetProtocol, draft: State, own: View): void {
  draft.group = ownCommit(protocol, own)
  draft.reset = null
}

/** Moves the ledger. What the reset asks for once more may have its effect once more. */
function follow(draft: State, offset: number): void {
  const { ledger, wanted, reset } = draft
  const before = ledger.next ?? 0
  ledger.next = offset
  draft.reset = null
  if (reset === null) return
  for (let message = offset; message < before; message += 1)
    wanted[message] = at(wanted, message) + 1
}

function enter(draft: State, index: number): void {
  draft.owner = index
  draft.generation += 1
  const { generation, group: assigned } = draft
  draft.members[index] = { generation, assigned, phase: 'assigned', epoch: 0, next: null }
}

function offerFaults(count: number, state: State, { fault }: Offers<State>): void {
  const { owner, left } = state
  for (const [index, view] of state.members.entries()) {
    if (view === null || left.kill === 0) continue
    fault(`${memberName(index)} is killed`, (draft) => {
      draft.left.kill -= 1
      draft.members[index] = null
      if (draft.owner === index) draft.owner = null
    })
  }
  if (left.move > 0 && owner !== null) {
    const other = 1 - owner
    fault(`the group moves the partition to ${memberName(other)}`, (draft) => {
      draft.left.move -= 1
      enter(draft, other)
    })
  }
  if (left.reset === 0 || owner !== null || state.group === null) return
  for (let offset = 0; offset <= count; offset += 1)
    for (const keeps of state.group.offset === offset ? [false] : [false, true])
      fault(`the offset is set to ${offset}${keeps ? ', with its text' : ''}`, (draft) => {
        draft.left.reset -= 1
        draft.reset = offset
        draft.group = { offset, text: keeps ? (draft.group?.text ?? null) : null }
        draft.skipped = Math.max(draft.skipped, offset)
      })
}
