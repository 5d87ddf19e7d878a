import { PolluxError } from '../errors.ts'
import type { AssignedPartition, Position } from '../ports/broker.ts'
import type { LedgerRow } from '../ports/store.ts'
import type { OutsideReset } from '../service-options.ts'
import { commitMetadata, committerOf } from './commit-metadata.ts'
import { acquireLedger, fitToLogs, type LedgerParts } from './ledger.ts'
import { ledgerMissing, outsideReset, standingOf, type TakenOver } from './outside-reset.ts'

/** What taking over needs of its surroundings. */
export interface TakeOverParts extends LedgerParts {
  readonly policy: OutsideReset
  /** Commits to the group. */
  commit(positions: readonly Position[]): Promise<void>
}

/**
 * Takes newly assigned partitions over: in the store, and where somebody else has set the group's position, in the
 * group. Gives none when the group refuses that, as they are not ours then.
 * @throws POLLUX_OUTSIDE_RESET, POLLUX_LEDGER_MISSING, and as `acquireLedger`.
 */
export async function takeOver(
  parts: TakeOverParts,
  assigned: readonly AssignedPartition[],
): Promise<readonly TakenOver[]> {
  for (;;) {
    const rows = await acquireLedger(parts, assigned)
    const found = assigned.map((one, index) => ({ assigned: one, row: rows[index] as LedgerRow }))
    if (!(await areOurs(parts, found))) return []
    const follows = whichFollow(parts, found)
    const wanted = found.map(({ assigned: { committed }, row }, index) =>
      follows[index] ? { ...row, next: committed, settled: [] } : row,
    )
    const moved = await moveLedger(parts, await fitToLogs(parts, wanted), follows)
    // Somebody acquired in between: what the ledger says is to be read again.
    if (moved === undefined) continue
    return await claim(
      parts,
      found.map((one, index) => ({ ...one, row: moved[index] ?? one.row })),
    )
  }
}

/**
 * What was read at the assignment may be long gone when the store is asked:
 *
 * assigned at a foreign position → asleep → the next owner follows it and works → awake, and acquires
 *
 * would take the work of the next owner for something to move away from. Who is still a member may commit what is
 * there already; behind our acquire, every later owner fences us.
 */
async function areOurs(parts: TakeOverParts, found: readonly TakenOver[]): Promise<boolean> {
  const reset = found.filter((one) => standingOf(one) === 'reset')
  return await isAccepted(
    parts,
    reset.map(({ assigned: { topic, partition, committed = 0, metadata } }) => {
      return { topic, partition, offset: committed, metadata }
    }),
  )
}

/** Commits to the group. False when it refuses, as the partitions are somebody else's. */
async function isAccepted(
  { commit, logger }: Pick<TakeOverParts, 'commit' | 'logger'>,
  positions: readonly Position[],
): Promise<boolean> {
  if (positions.length === 0) return true
  try {
    await commit(positions)
    return true
  } catch (error: unknown) {
    if (!PolluxError.is(error, 'POLLUX_BROKER_REFUSED')) throw error
    logger.warn({ error: error.message }, 'the group has given these partitions to somebody else')
    return false
  }
}

/** Says where group and ledger differ, and tells whose ledger is to follow the group, each in its place. */
function whichFollow(
  { store, service, policy, logger }: TakeOverParts,
  found: readonly TakenOver[],
): readonly boolean[] {
  const by = Map.groupBy(found, standingOf)
  const { lost = [], reset = [], group = [], ledger = [] } = Object.fromEntries(by)
  if (lost.length > 0) throw ledgerMissing(lost, service, store.name)
  if (reset.length > 0 && policy === 'stop') throw outsideReset(reset, service, store.name)
  for (const one of ledger) {
    const { group: offset, ledger: next = 0 } = positionsOf(one)
    if (offset === undefined)
      logger.info(positionsOf(one), 'the group has no position, going on where the ledger says')
    else if (offset > next)
      logger.warn(positionsOf(one), 'the ledger is behind the group: what lies between comes again')
  }
  for (const one of group) {
    if (committerOf(one.assigned) === 'outside')
      logger.info(positionsOf(one), 'going on where somebody else has stopped')
  }
  for (const one of reset) {
    const fields = { ...positionsOf(one), outsideReset: policy }
    logger.warn(fields, 'the group’s position was set by something else than this service')
  }
  return found.map((one) => policy === 'follow' && reset.includes(one))
}

/** As log lines have it. */
function positionsOf({ assigned: { topic, partition, committed }, row: { next } }: TakenOver): {
  readonly topic: string
  readonly partition: number
  readonly group: number | undefined
  readonly ledger: number | undefined
} {
  return { topic, partition, group: committed, ledger: next }
}

/**
 * Moves the ledger to where those rows are by now that follow, in a unit of its own: forwards, what lies between counts
 * as settled; backwards, what lies behind counts as never handled. Undefined when another owner has them.
 */
async function moveLedger(
  { store, service }: Pick<TakeOverParts, 'store' | 'service'>,
  rows: readonly LedgerRow[],
  follows: readonly boolean[],
): Promise<readonly LedgerRow[] | undefined> {
  const ledger = rows
    .filter((_, index) => follows[index])
    .map(({ topic, partition, epoch, unit, next = 0 }) => {
      const place = { topic, partition, epoch, unit }
      return { ...place, next, settled: [], outputs: [], acknowledged: undefined }
    })
  if (ledger.length === 0) return rows
  const { outcome } = await store.commit({ service, marks: [], states: [], ledger })
  if (outcome !== 'committed') return undefined
  return rows.map((row, index) => (follows[index] ? { ...row, unit: row.unit + 1 } : row))
}

/**
 * A position that somebody else has committed is made ours before any work starts. Otherwise:
 *
 * begin at their position → a unit is committed → crash → the ledger is ahead of a position that is not ours
 *
 * and the next owner would take it for a reset, and with `follow` do the unit's work again.
 */
async function claim(
  parts: TakeOverParts,
  taken: readonly TakenOver[],
): Promise<readonly TakenOver[]> {
  const foreign = new Map(
    taken
      .filter(({ assigned }) => committerOf(assigned) === 'outside')
      .map((one) => [one, ownPosition(one)]),
  )
  if (!(await isAccepted(parts, [...foreign.values()]))) return []
  return taken.map((one) => {
    const position = foreign.get(one)
    if (position === undefined) return one
    const { offset: committed, metadata } = position
    return { ...one, assigned: { ...one.assigned, committed, metadata } }
  })
}

function ownPosition({ assigned, row: { next } }: TakenOver): Position {
  const { topic, partition, start } = assigned
  const offset = next ?? start
  return { topic, partition, offset, metadata: commitMetadata(offset, next !== undefined) }
}
