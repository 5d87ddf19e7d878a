import { PolluxError } from '../errors.ts'
import type { AssignedPartition } from '../ports/broker.ts'
import type { LedgerRow } from '../ports/store.ts'
import { committerOf } from './commit-metadata.ts'

/** A partition by the group's word and by the ledger's. */
export interface TakenOver {
  readonly assigned: AssignedPartition
  readonly row: LedgerRow
}

/**
 * What the two make together. `ledger`: its position counts. `group`: the ledger has no work of this partition, so the
 * group's does. `reset`: somebody else has set the group's to another one. `lost`: the ledger had work, and has none.
 */
export type Standing = 'ledger' | 'group' | 'reset' | 'lost'

/** Compares the group's position with the ledger's. */
export function standingOf({ assigned, row: { next } }: TakenOver): Standing {
  const committer = committerOf(assigned)
  if (next === undefined) return committer === 'ledger' ? 'lost' : 'group'
  return committer === 'outside' && assigned.committed !== next ? 'reset' : 'ledger'
}

/** Which of the two positions counts is for a person to say. */
export function outsideReset(
  partitions: readonly TakenOver[],
  service: string,
  store: string,
): PolluxError {
  const found = listed(partitions, ({ assigned: { committed }, row: { next } }) => {
    return `${committed} in the group, ${next} in the ledger`
  })
  const [{ topic, partition, next } = { topic: '', partition: 0, next: 0 }] = partitions.map(
    ({ row }) => row,
  )
  return new PolluxError(
    'POLLUX_OUTSIDE_RESET',
    `The offsets of group ${service} were set by something else than this service.`,
    {
      expected: `the positions of the ledger in ${store}`,
      found,
      hint:
        "Say in the service which count: outsideReset: 'follow' starts at the group's, outsideReset: 'ledger' keeps the " +
        `ledger's. Or set the group's back, while no member runs: kafka-consumer-groups --group ${service} --topic ` +
        `${topic}:${partition} --reset-offsets --to-offset ${next} --execute`,
    },
  )
}

/** To begin at the group's position would do without the state and the marks that belong to it. */
export function ledgerMissing(
  partitions: readonly TakenOver[],
  service: string,
  store: string,
): PolluxError {
  return new PolluxError(
    'POLLUX_LEDGER_MISSING',
    `Group ${service} has worked with a ledger that is not in ${store}.`,
    {
      expected: 'the store that the positions were committed with',
      found: listed(partitions, ({ assigned: { committed } }) => {
        return `${committed} in the group, nothing in the ledger`
      }),
      hint:
        'Use the store of before (pollux run: its --folder or --schema), or restore it. To go on without it, set the ' +
        'positions to where the service is to begin, while no member runs: kafka-consumer-groups --reset-offsets; or ' +
        'give the service another name.',
    },
  )
}

const most = 5

function listed(
  partitions: readonly TakenOver[],
  describe: (partition: TakenOver) => string,
): string {
  const texts = partitions
    .slice(0, most)
    .map((one) => `${one.row.topic}/${one.row.partition}: ${describe(one)}`)
  const rest = partitions.length - texts.length
  return [...texts, ...(rest > 0 ? [`${rest} more`] : [])].join('; ')
}
