import { type Machine, type Offers, stepsOffered, type Violation } from './machine.ts'
import { at } from './model.ts'
import { firstGap } from './positions.ts'
import { copyOf, memberName, messageNames } from './state.ts'

/**
 * `publish: 'transaction'` as a list of choices, as `Protocol` is for a service with a store: what is not what Pollux
 * does is a rule left out.
 */
export interface TransactionProtocol {
  /** R11. Which of the finished messages a transaction takes; dead letters are outputs like others. */
  readonly takes: 'contiguous positions' | 'all finished'
  /** R11. When a partition that the group wants back is given up. */
  readonly givesUp: 'after its transaction' | 'at once'
  /** The group accepts a transaction's position from its owner only. */
  readonly provesMembership: boolean
  /** A new owner waits until no transaction with a position of the partition is open. */
  readonly waitsForOpen: boolean
}

/** What Pollux does. */
export const transactionProtocol: TransactionProtocol = {
  takes: 'contiguous positions',
  givesUp: 'after its transaction',
  provesMembership: true,
  waitsForOpen: true,
}

/** One partition, whose messages have these keys, and what may go wrong how often. */
export interface TransactionConfiguration {
  readonly keys: readonly string[]
  readonly faults: Partial<TransactionFaults>
  readonly protocol?: Partial<TransactionProtocol>
}

export interface TransactionFaults {
  /** The group takes the partition back, its owner agreeing. */
  revoke: number
  /** The group moves it, and its owner does not notice. */
  move: number
  /** A process dies; its transaction stays open until the coordinator ends it. */
  kill: number
}

export interface TransactionState {
  owner: number
  generation: number
  offset: number
  /** Outputs that readers of committed records see. */
  readonly log: number[]
  readonly members: TransactionMember[]
  readonly left: TransactionFaults
}

interface TransactionMember {
  view: TransactionView | null
  transaction: OpenTransaction | null
}

interface TransactionView {
  readonly generation: number
  hasStarted: boolean
  /** Messages that its handlers have finished, and all below its start. */
  finished: number[]
  /** Those of them that a transaction has taken. */
  taken: number[]
}

/** As the coordinator knows it: it outlives the process that has begun it. */
interface OpenTransaction {
  readonly outputs: readonly number[]
  readonly position: number
  /** Its process is dead. */
  isAbandoned: boolean
}

type State = TransactionState

/** The machine of one configuration. */
export function transactionMachine({
  keys,
  faults,
  protocol: choices,
}: TransactionConfiguration): Machine<State> {
  const protocol = { ...transactionProtocol, ...choices }
  return {
    initial: {
      owner: 0,
      generation: 1,
      offset: 0,
      log: [],
      members: [
        { view: newView(1), transaction: null },
        { view: null, transaction: null },
      ],
      left: { revoke: 0, move: 0, kill: 0, ...faults },
    },
    stepsFrom: (state) =>
      stepsOffered(state, copyOf, (offers) => {
        for (const index of state.members.keys()) {
          offerWork(keys, protocol, state, index, offers)
          offerEnd(state, index, offers)
        }
        offerFaults(protocol, state, offers)
      }),
    violationIn: (state) => violationIn(keys, state),
    isDone: ({ offset, log }) => offset === keys.length && log.length === keys.length,
    describe: ({ offset, log }) => JSON.stringify({ offset, log }),
  }
}

function newView(generation: number): TransactionView {
  return { generation, hasStarted: false, finished: [], taken: [] }
}

function violationIn(keys: readonly string[], { log, offset }: State): Violation | undefined {
  const messages = [...keys.keys()]
  const twice = log.find((output, index) => log.indexOf(output) < index)
  if (twice !== undefined)
    return { kind: 'output twice', what: `output m${twice} is in the log twice` }
  const early = log.find((output, index) =>
    log.slice(index).some((other) => other < output && keys[other] === keys[output]),
  )
  if (early !== undefined)
    return { kind: 'outputs out of order', what: `output m${early} came before an earlier one` }
  const passed = messages.find((message) => message < offset && !log.includes(message))
  if (passed === undefined) return undefined
  return { kind: 'offset too far', what: `the offset ${offset} has passed m${passed}` }
}

/** What an owner does until its transaction is begun. */
function offerWork(
  keys: readonly string[],
  protocol: TransactionProtocol,
  state: State,
  index: number,
  offers: Offers<State>,
): void {
  const { members, offset } = state
  const { view } = at(members, index)
  if (view === null) return
  const name = memberName(index)
  const isOurs = state.owner === index && state.generation === view.generation
  if (!isOurs) {
    offers.step(`${name} learns that it has lost the partition`, (draft) => {
      at(draft.members, index).view = null
    })
  }
  if (!view.hasStarted) {
    const isHeldBack = members.some(({ transaction }) => transaction !== null)
    if (isOurs && !(protocol.waitsForOpen && isHeldBack))
      offers.step(`${name} starts at offset ${offset}`, (draft) => start(draft, index))
    return
  }
  for (const message of keys.keys()) {
    if (!isNextOfKey(keys, view, message)) continue
    offers.step(`${name} handles m${message}`, ({ members }) => {
      at(members, index).view?.finished.push(message)
      at(members, index).view?.finished.sort((a, b) => a - b)
    })
  }
  // Sent with the transaction, the position is refused when somebody else is the owner.
  if (isOurs || !protocol.provesMembership) offerBegin(protocol, state, index, offers)
}

function start({ members, offset }: State, index: number): void {
  const { view } = at(members, index)
  if (view === null) return
  view.hasStarted = true
  view.finished = Array.from({ length: offset }, (_, message) => message)
  view.taken = [...view.finished]
}

function isNextOfKey(
  keys: readonly string[],
  { finished }: TransactionView,
  message: number,
): boolean {
  const isOpen = (one: number): boolean => !finished.includes(one)
  const first = [...keys.keys()].find((one) => keys[one] === keys[message] && isOpen(one))
  return first === message
}

function offerBegin(
  { takes }: TransactionProtocol,
  { members }: State,
  index: number,
  offers: Offers<State>,
): void {
  const { view, transaction } = at(members, index)
  if (view === null || transaction !== null) return
  const position = firstGap(view.finished)
  const outputs = view.finished.filter(
    (message) => !view.taken.includes(message) && (takes === 'all finished' || message < position),
  )
  if (outputs.length === 0) return
  const what = `outputs ${messageNames(outputs)} and offset ${position}`
  offers.step(`${memberName(index)} begins a transaction with ${what}`, (draft) => {
    const member = at(draft.members, index)
    member.transaction = { outputs, position, isAbandoned: false }
    member.view?.taken.push(...outputs)
  })
}

/** A transaction is ended by its process, or by the coordinator once that is dead. */
function offerEnd({ members }: State, index: number, offers: Offers<State>): void {
  const { transaction } = at(members, index)
  if (transaction === null) return
  const name = memberName(index)
  if (transaction.isAbandoned) {
    offers.step(`the coordinator aborts the transaction of ${name}`, (draft) => {
      at(draft.members, index).transaction = null
    })
    return
  }
  offers.step(`${name} commits its transaction`, (draft) => {
    draft.log.push(...transaction.outputs)
    draft.offset = transaction.position
    at(draft.members, index).transaction = null
  })
  offers.step(`${name} aborts its transaction`, (draft) => {
    const member = at(draft.members, index)
    member.transaction = null
    if (member.view !== null) member.view = newView(member.view.generation)
  })
}

function offerFaults({ givesUp }: TransactionProtocol, state: State, offers: Offers<State>): void {
  const { left, members, owner } = state
  const other = 1 - owner
  const { transaction } = at(members, owner)
  if (at(members, other).view === null) {
    const isFree = givesUp === 'at once' || transaction === null
    if (left.revoke > 0 && isFree) {
      offers.fault(
        `${memberName(owner)} gives the partition up to ${memberName(other)}`,
        (draft) => {
          draft.left.revoke -= 1
          at(draft.members, owner).view = null
          assign(draft, other)
        },
      )
    }
    if (left.move > 0) {
      const names = `${memberName(other)}, and ${memberName(owner)} does not notice`
      offers.fault(`the group moves the partition to ${names}`, (draft) => {
        draft.left.move -= 1
        assign(draft, other)
      })
    }
  }
  if (left.kill > 0) offerKill(state, offers)
}

/** The owner dies, and the partition goes to the other member. */
function offerKill({ owner }: State, offers: Offers<State>): void {
  const other = 1 - owner
  offers.fault(`${memberName(owner)} is killed, and ${memberName(other)} takes over`, (draft) => {
    const member = at(draft.members, owner)
    draft.left.kill -= 1
    member.view = null
    if (member.transaction !== null) member.transaction.isAbandoned = true
    assign(draft, other)
  })
}

function assign(state: State, owner: number): void {
  state.owner = owner
  state.generation += 1
  at(state.members, owner).view = newView(state.generation)
}
