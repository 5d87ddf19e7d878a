import type { AssignedPartition } from '../ports/broker.ts'

/**
 * Who has committed a group's position. `ledger`: this service, when its ledger already had work of the partition.
 * `pollux`: this service without that. `outside`: somebody else. `nobody`: there is none.
 */
export type Committer = 'ledger' | 'pollux' | 'outside' | 'nobody'

const own = /^pollux\/\d+(?<ledger>;ledger)?;at=(?<offset>\d+)(?:;|$)/

/**
 * The text that a position is committed with. It holds the offset as well: whoever changes the one keeps the other, or
 * drops it.
 */
export function commitMetadata(offset: number, hasLedger: boolean): string {
  return `pollux/1${hasLedger ? ';ledger' : ''};at=${offset}`
}

/** Who has committed the position that a partition was assigned with. */
export function committerOf({
  committed,
  metadata = '',
}: Pick<AssignedPartition, 'committed' | 'metadata'>): Committer {
  if (committed === undefined) return 'nobody'
  const groups = own.exec(metadata)?.groups
  if (groups?.['offset'] !== String(committed)) return 'outside'
  return groups['ledger'] === undefined ? 'pollux' : 'ledger'
}
