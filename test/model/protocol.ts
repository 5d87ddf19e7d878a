/**
 * The protocol as a list of choices. `protocol` is what Pollux does; each other value is a rule left out, which some
 * test shows to go wrong, or another way to do it, which some configuration shows to hold.
 */
export interface Protocol {
  /** What a second copy of a message is known by; a repeated position is one in any case. */
  readonly idempotency: 'event id' | 'position'
  /** Handlers keep a value per key in the store. */
  readonly hasState: boolean

  /** R1. What a unit's ledger rows must show for the unit to be committed, and when that is looked at. */
  readonly fence: 'at commit' | 'locked at begin' | 'read at begin' | 'none'
  /** R2. Where a new epoch comes from: a fail-over may set the row back, and not a clock. */
  readonly epochs: 'counted in the row' | 'never twice'
  /** R1. The ledger also holds what was settled above `next`. */
  readonly keepsRanges: boolean
  /** R1. Positions that the ledger calls settled are not handled again. */
  readonly knowsPositions: boolean
  /** R2. A unit is committed under the number that its ledger rows have before it. */
  readonly hasUnitNumber: boolean
  /** R2. What the owner does when no answer comes. */
  readonly lostAnswer: 'repeat the unit' | 'read the row'
  /** R2. The owner compares its ledger rows when the database has failed over. */
  readonly verifiesAfterFailOver: boolean
  /** R3. How a partition is taken over. */
  readonly acquire: 'bump, then read' | 'read, then bump'
  /** R3. The database ends transactions whose owner does nothing. */
  readonly limitsTransactions: boolean
  /** R4. Where work starts. */
  readonly start: 'ledger' | 'group offset'

  /** R7. Copies of an event that is in work wait for its outcome. */
  readonly claims: boolean
  /** R7. What a mark that is there already does to a unit that brings it. */
  readonly secondMark: 'conflict' | 'passed over'
  /**
   * R7. What is done again after a conflict: the partitions of the unit start anew, or only the work of the keys that
   * have moved. Pollux does the first where it cannot tell the keys apart.
   */
  readonly conflict: 'partition' | 'key'
  /** R8. What an owner does that the store has refused. */
  readonly fenced: 'prove, then acquire' | 'let go'
  /** R8. Work of other partitions that was built on dropped work is dropped as well. */
  readonly dropsDependents: boolean
  /** R9. What writes the rows of parked messages. */
  readonly parking: 'unit' | 'handler'
  /** R9. What says that a message has to queue behind a parked one. */
  readonly parkedBy: 'lane' | 'store'
  /** R10. Which marks clean-up deletes once their window has passed. */
  readonly cleanUp: 'below next' | 'all'

  /** R12. What happens to the outputs behind one whose acknowledgement does not come. */
  readonly afterFailedSend: 'sent again in order' | 'not waited for'
  /** R13. When an output is sent. */
  readonly publishes: 'when stored' | 'when handled'
  /** R13. A new owner publishes what its predecessor stored and did not know as acknowledged. */
  readonly recovers: boolean
  /** R13. Whether a duplicate makes the output of its original go out again. */
  readonly duplicates: 'skip' | 'emit unsettled' | 'emit always'
  /** R13. When stored outputs are deleted, and which. */
  readonly settles: 'range when acknowledged' | 'each when acknowledged' | 'range when sent'
  /** R2. The store takes the word that outputs are acknowledged only from the owner with the ledger's epoch. */
  readonly fencesSettling: boolean
  /** How far a message has to be for the group's offset to pass it. */
  readonly offsetAfter: 'handling' | 'commit' | 'acknowledgement' | 'settling'

  /** Which of the finished messages a unit takes. */
  readonly unit: 'first finished' | 'contiguous positions' | 'one message'
  /** R14. In which order the messages of a refused unit are tried alone. */
  readonly bisect: 'as finished' | 'any order'
  /** R14. Later results of the lane are discarded when a message is dead-lettered. */
  readonly discardsLane: boolean
}

/** What Pollux does. */
export const protocol: Protocol = {
  idempotency: 'event id',
  hasState: true,
  fence: 'at commit',
  epochs: 'never twice',
  keepsRanges: true,
  knowsPositions: true,
  hasUnitNumber: true,
  lostAnswer: 'repeat the unit',
  verifiesAfterFailOver: true,
  acquire: 'bump, then read',
  limitsTransactions: true,
  start: 'ledger',
  claims: true,
  secondMark: 'conflict',
  conflict: 'partition',
  fenced: 'prove, then acquire',
  dropsDependents: true,
  parking: 'unit',
  parkedBy: 'lane',
  cleanUp: 'below next',
  afterFailedSend: 'sent again in order',
  publishes: 'when stored',
  recovers: true,
  duplicates: 'skip',
  settles: 'range when acknowledged',
  fencesSettling: true,
  offsetAfter: 'acknowledgement',
  unit: 'first finished',
  bisect: 'as finished',
  discardsLane: true,
}

/** Without ids: what was applied is known by its position alone. */
export const byPosition = { idempotency: 'position' } as const satisfies Partial<Protocol>

/** Nothing but the ledger notices that something is applied twice. */
export const byPositionStateless = {
  idempotency: 'position',
  hasState: false,
} as const satisfies Partial<Protocol>

/**
 * R15. A store without transactions over several partitions: no ledger to fence with, one message a unit with its
 * mark, state and outputs in one item.
 */
export const keyedStore = {
  fence: 'none',
  hasUnitNumber: false,
  knowsPositions: false,
  verifiesAfterFailOver: false,
  start: 'group offset',
  recovers: false,
  duplicates: 'emit unsettled',
  settles: 'each when acknowledged',
  fencesSettling: false,
  offsetAfter: 'settling',
  unit: 'one message',
} as const satisfies Partial<Protocol>
