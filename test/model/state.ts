import { at, type Faults, type Model } from './model.ts'

/** Everything that can differ between two moments. Steps change a copy. */
export interface State {
  /** What the group's coordinator knows, by partition. */
  readonly group: Assignment[]
  /** Outputs that are in the log, by lane of their inputs, oldest first. Of several copies the last one counts. */
  readonly log: number[][]
  store: Store
  /** What a fail-over goes back to. */
  storeBefore: Store | null
  /** By partition: the last epoch given, as long as no fail-over has set it back. */
  readonly lastEpochs: number[]
  readonly members: Member[]
  /** The member that has stopped for ever. */
  frozen: number | null
  /** Faults that may still happen. */
  readonly left: Faults
}

export interface Assignment {
  owner: number
  /** Another one at each move: commits of former owners are refused by it. */
  generation: number
  /** The committed offset. */
  offset: number
}

export interface Store {
  /** By partition. */
  readonly ledger: LedgerRow[]
  marks: string[]
  /** How often each message was applied: by the store's own account, which no protocol reads. */
  readonly effects: number[]
  readonly deadLetters: number[]
  /** By key: the messages that its value was made of, as handlers wrote it. Its length is the version. */
  readonly values: number[][]
  /** By key: the messages that were applied, in order; by the store's own account again. */
  readonly histories: number[][]
  /** By partition: one row for the outputs of each unit. */
  readonly outbox: StoredOutputs[][]
  /** By partition: parked messages in the order of their lanes. */
  readonly parked: number[][]
}

export interface LedgerRow {
  epoch: number
  unit: number
  next: number
  /** Settled offsets above `next`. */
  above: number[]
  lockedBy: number | null
}

export interface StoredOutputs {
  readonly unit: number
  /** An output is called by the message that it was made of. */
  readonly outputs: number[]
}

/** A process. */
export interface Member {
  /** Its side of each partition; null when it has not got it, as far as it knows. */
  readonly views: (View | null)[]
  /** What handlers have finished and no unit has taken, oldest first. */
  finished: Result[]
  /** The unit that is under way. */
  unit: UnitUnderWay | null
  /** A request of which it has given up the answer, and which the store may still execute. */
  lateRequest: Unit | null
  /** By key: the version in the store that its results in work were built on; null when there are none. */
  readonly versions: (number | null)[]
  /** By partition: outputs on their way to the log. They outlive the view that they were sent by. */
  readonly sends: Send[][]
  /** A unit was refused: its messages are tried alone. */
  isBisecting: boolean
}

/** What a member knows of a partition for the time of one assignment. */
export interface View {
  readonly generation: number
  /** It was fenced, and has to show that the group still counts it as owner. */
  mustProve: boolean
  /** 0 until it has bumped the row's. */
  epoch: number
  unit: number
  /** What it has read of the outbox and not sent yet; null until it has read its rows. */
  left: StoredOutput[] | null
  /** Offsets that need no handling: settled, or below the start. */
  settled: number[]
  /** Outputs that are in the log while the store has not been told. */
  acknowledged: StoredOutput[]
  /** Its lanes' parked messages. */
  parked: number[]
}

export interface StoredOutput {
  readonly unit: number
  readonly output: number
}

export interface Send extends StoredOutput {
  /** Of the view that sent it. */
  readonly epoch: number
  /** That view is gone: nobody takes note of its acknowledgement. */
  readonly isOrphan: boolean
}

/** What became of a message in a handler, or without one. */
export interface Result {
  readonly message: number
  readonly outcome: 'applied' | 'drained' | 'parked' | 'queued' | 'duplicate' | 'dead letter'
  /** The key's value with it. */
  readonly value: readonly number[]
}

/** What one transaction covers, as it is sent to the store. */
export interface Unit {
  readonly results: Result[]
  readonly changes: LedgerChange[]
  /** By key: the version that the store must have; null for keys that are not changed. */
  readonly versions: (number | null)[]
}

/** A unit that waits for its answer. */
export interface UnitUnderWay extends Unit {
  /** Its partitions that were not lost since it began: only these learn what became of it. */
  held: number[]
  /** The database has ended its transaction. */
  isEnded: boolean
}

export interface LedgerChange {
  readonly partition: number
  readonly epoch: number
  readonly unit: number
  readonly next: number
  readonly above: number[]
  /** Outputs of this unit and all before are acknowledged; 0 for none. */
  readonly acknowledged: number
}

/** Before anything has happened: each partition is assigned, and nobody has acquired one. */
export function initialState(model: Model): State {
  const members = [0, 1].map((member) => {
    const views = model.owners.map((owner) => (owner === member ? newView(1) : null))
    return { ...idleMember(model), views }
  })
  return {
    group: model.owners.map((owner) => ({ owner, generation: 1, offset: 0 })),
    log: Array.from({ length: model.laneCount }, () => []),
    store: {
      ledger: model.partitions.map(() => {
        return { epoch: 0, unit: 0, next: 0, above: [], lockedBy: null }
      }),
      marks: [],
      effects: model.messages.map(() => 0),
      deadLetters: model.messages.map(() => 0),
      values: model.keys.map(() => []),
      histories: model.keys.map(() => []),
      outbox: model.partitions.map(() => []),
      parked: model.partitions.map(() => []),
    },
    storeBefore: null,
    lastEpochs: model.partitions.map(() => 0),
    members,
    frozen: null,
    left: { ...model.faults },
  }
}

/** A copy that shares nothing; many times faster than `structuredClone`, which the search feels. */
export function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf) as T
  const copy: Record<string, unknown> = {}
  for (const name in value) copy[name] = copyOf(value[name])
  return copy as T
}

/** A process that has just started. */
export function idleMember(model: Model): Member {
  return {
    views: model.partitions.map(() => null),
    finished: [],
    unit: null,
    lateRequest: null,
    versions: model.keys.map(() => null),
    sends: model.partitions.map(() => []),
    isBisecting: false,
  }
}

/** A partition that was assigned and is not acquired yet. */
export function newView(generation: number, mustProve = false): View {
  return {
    generation,
    mustProve,
    epoch: 0,
    unit: 0,
    left: null,
    settled: [],
    acknowledged: [],
    parked: [],
  }
}

/** It has bumped the epoch and read its rows: work may begin. */
export function isAcquired({ epoch, left }: View): boolean {
  return epoch > 0 && left !== null
}

/** A view that its member has, and the group's word on it. */
export interface Ownership {
  readonly member: number
  readonly partition: number
  readonly view: View
  /** The group counts the member as owner. */
  readonly isOurs: boolean
  /** How traces call it. */
  readonly name: string
}

/** The views of all members that are not frozen. */
export function ownershipsIn(state: State): readonly Ownership[] {
  return state.members.flatMap(({ views }, member) =>
    views.flatMap((view, partition) => {
      if (view === null || member === state.frozen) return []
      const { owner, generation } = at(state.group, partition)
      const isOurs = owner === member && generation === view.generation
      return [{ member, partition, view, isOurs, name: `${memberName(member)}.p${partition}` }]
    }),
  )
}

/** A view that is known to be there. */
export function viewOf(state: State, member: number, partition: number): View {
  const view = at(at(state.members, member).views, partition)
  if (view === null) throw new Error(`${memberName(member)} has no view of p${partition}.`)
  return view
}

/** What a member has in work: in the unit under way, then what has finished since. */
export function inWork({ unit, finished }: Member): readonly Result[] {
  return unit === null ? finished : [...unit.results, ...finished]
}

/** The result was made of its key's value and changes it. */
export function changesValue({ outcome }: Result): boolean {
  return outcome === 'applied' || outcome === 'drained'
}

/** The event has had its effect, or was given up. */
export function isSettled(model: Model, store: Store, message: number): boolean {
  return model
    .copiesOf(message)
    .some((copy) => at(store.effects, copy) + at(store.deadLetters, copy) > 0)
}

export function memberName(member: number): string {
  return at(['A', 'B'], member)
}

export function messageNames(messages: readonly number[]): string {
  return messages.map((message) => `m${message}`).join(', ')
}
