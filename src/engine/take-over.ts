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
    const resolved = await resolve(parts, found)
    // Somebody acquired in between: what the ledger says is to be read again.
    if (resolved === undefined) continue
    const fitted = await fitToLogs(
      parts,
      resolved.map(({ row }) => row),
    )
    const taken = resolved.map((one, index) => ({ ...one, row: fitted[index] ?? one.row }))
    return await claim(parts, taken)
  }
}

/** Settles what group and ledger say differently. Undefined when the ledger has moved meanwhile. */
async function resolve(
  { store, service, policy, logger }: TakeOverParts,
  found: readonly TakenOver[],
): Promise<readonly TakenOver[] | undefined> {
  const by = Map.groupBy(found, standingOf)
  const { lost = [], reset = [], group = [], ledger = [] } = Object.fromEntries(by)
  if (lost.length > 0) throw ledgerMissing(lost, service, store.name)
  if (reset.length > 0 && policy === 'stop') throw outsideReset(reset, service, store.name)
  for (const { assigned, row } of ledger) {
    const { topic, partition, committed } = assigned
    const { next = 0 } = row
    const fields = { topic, partition, group: committed, ledger: next }
    if (committed === undefined) {
      logger.info(fields, 'the group has no position, going on where the ledger says')
    } else if (committed > next) {
      logger.warn(fields, 'the ledger is behind the group: what lies between is handled again')
    }
  }
  for (const { assigned } of group) {
    if (committerOf(assigned) !== 'outside') continue
    const { topic, partition, committed } = assigned
    logger.info({ topic, partition, group: committed }, 'going on where somebody else has stopped')
  }
  for (const { assigned, row } of reset) {
    const { topic, partition, committed } = assigned
    const fields = { topic, partition, group: committed, ledger: row.next, outsideReset: policy }
    logger.warn(fields, 'the group’s position was set by something else than this service')
  }
  if (reset.length === 0 || policy !== 'follow') return found
  return await follow({ store, service }, found)
}

/**
 * Moves the ledger to where the group was set, in a unit of its own: forwards, what lies between counts as settled;
 * backwards, what lies behind counts as never handled.
 */
async function follow(
  { store, service }: Pick<TakeOverParts, 'store' | 'service'>,
  found: readonly TakenOver[],
): Promise<readonly TakenOver[] | undefined> {
  const moved = found.map((one): TakenOver => {
    const { assigned, row } = one
    return standingOf(one) === 'reset' ? { assigned, row: movedTo(assigned, row) } : one
  })
  const ledger = moved
    .filter((one, index) => one !== found[index])
    .map(({ row: { topic, partition, epoch, unit, next = 0 } }) => {
      const place = { topic, partition, epoch, unit: unit - 1 }
      return { ...place, next, settled: [], outputs: [], acknowledged: undefined }
    })
  const { outcome } = await store.commit({ service, marks: [], states: [], ledger })
  return outcome === 'committed' ? moved : undefined
}

/** The row as it is after the unit. */
function movedTo({ committed }: AssignedPartition, row: LedgerRow): LedgerRow {
  return { ...row, unit: row.unit + 1, next: committed, settled: [] }
}

/**
 * A position that somebody else has committed is made ours before any work starts. Otherwise:
 *
 * begin at their position → a unit is committed → crash → the ledger is ahead of a position that is not ours
 *
 * and the next owner would take it for a reset, and with `follow` do the unit's work again.
 */
async function claim(
  { commit, logger }: TakeOverParts,
  taken: readonly TakenOver[],
): Promise<readonly TakenOver[]> {
  const foreign = new Map(
    taken
      .filter(({ assigned }) => committerOf(assigned) === 'outside')
      .map((one) => [one, ownPosition(one)]),
  )
  if (foreign.size === 0) return taken
  try {
    await commit([...foreign.values()])
  } catch (error: unknown) {
    if (!PolluxError.is(error, 'POLLUX_BROKER_REFUSED')) throw error
    logger.warn({ error: error.message }, 'the group has given these partitions to somebody else')
    return []
  }
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
