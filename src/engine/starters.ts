import { errorText, PolluxError } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Store, StoreTransaction } from '../ports/store.ts'
import type { Admission } from './admission.ts'
import type { AttemptParts } from './attempt.ts'
import { BatchSource } from './batch-source.ts'
import { Batches, type BatchOutcomes } from './batches.ts'
import { Dispatcher, type Outcomes, type Starter } from './dispatcher.ts'
import type { Lanes } from './lanes.ts'
import type { Outage } from './outage.ts'
import type { Partition } from './partition.ts'
import type { Ends, StoreStages } from './pipeline.ts'
import type { Scheduler } from './scheduler.ts'
import { Setbacks } from './setbacks.ts'
import { SliceOfBatch } from './slice-of-batch.ts'
import { SliceOfMessages } from './slice-of-messages.ts'
import { type SliceContents, type SliceParts, Slices } from './slices.ts'
import type { Waits } from './waits.ts'

/** What starts messages, and what it needs of its surroundings. */
export interface StarterParts {
  readonly attempts: AttemptParts
  readonly lanes: Lanes
  readonly outcomes: Outcomes & BatchOutcomes
  readonly outage: Pick<Outage, 'mayStart'>
  readonly ends: Ends
  readonly clock: Clock
  readonly logger: Logger
  readonly waits: Waits
  readonly stopping: AbortSignal
  partitions(): readonly Partition[]
  patiently<T>(what: string, action: () => Promise<T>): Promise<T>
  /** The store works again after trouble. */
  recovered(): void
  /** Undefined when nothing is due by time. */
  readonly scheduler: Scheduler | undefined
  /** Undefined without a store. */
  readonly stored:
    | { readonly store: Store; readonly stages: StoreStages; readonly admission: Admission }
    | undefined
}

/** What starts the messages of this service: by one or by batch, in the unit's transaction or not. */
export function starterOf(parts: StarterParts): Starter {
  const { attempts, lanes, outcomes, outage, ends, clock, stored } = parts
  const { uses, handleMany } = attempts.service
  const admission = stored?.admission
  if (stored !== undefined && Object.keys(uses).length > 0) {
    return handleMany === undefined
      ? slices(parts, stored, new SliceOfMessages({ ...parts, admission: stored.admission }))
      : slices(parts, stored, new SliceOfBatch({ ...parts, source: sourceOf(parts) }))
  }
  if (handleMany === undefined)
    return new Dispatcher({ attempts, lanes, admission, outcomes, outage, clock })
  const broken = (error: unknown): void => ends.broken(error)
  return new Batches({ attempts, lanes, outcomes, outage, clock, broken, source: sourceOf(parts) })
}

function sourceOf({ attempts, lanes, stored, partitions }: StarterParts): BatchSource {
  const { batch } = attempts.service.options
  return new BatchSource({ lanes, admission: stored?.admission, most: batch, partitions })
}

function slices(
  parts: StarterParts,
  { store, stages: { groupCommit, outbox } }: NonNullable<StarterParts['stored']>,
  contents: SliceContents,
): Slices {
  const { ends, patiently, outcomes, scheduler } = parts
  const setbacks = new Setbacks({ ...parts, signal: parts.stopping })
  return new Slices({
    contents,
    schedule: scheduler,
    setbacks,
    begin: () => patiently('beginning a transaction', () => beginIn(store)),
    commit: ({ works, own }, commit) =>
      own === undefined
        ? groupCommit.commitWhole(works, commit)
        : groupCommit.commitOwn(own, commit),
    room: () => outbox?.room(),
    startedAll: () => outcomes.startedAll(),
    broken: (error) => ends.broken(error),
    takenBack: takenBackBy(parts, groupCommit, setbacks),
  })
}

function beginIn({ transactions }: Store): Promise<StoreTransaction> {
  if (transactions === undefined) throw new Error('the store was said to have transactions')
  return transactions.begin()
}

function takenBackBy(
  { ends, logger, stopping }: StarterParts,
  groupCommit: StoreStages['groupCommit'],
  setbacks: Setbacks,
): SliceParts['takenBack'] {
  return async ({ works, own }, cause) => {
    for (const work of works) ends.takenBack(work)
    if (PolluxError.is(cause, 'POLLUX_STORE_UNREACHABLE')) await setbacks.again(cause)
    else logger.warn({ error: errorText(cause) }, 'a transaction was taken back')
    const partitions = new Set(works.map(({ partition }) => partition))
    if (own !== undefined) partitions.add(own.partition)
    await groupCommit.alone(async () => {
      const left = [...partitions].filter(({ hasEnded }) => !hasEnded)
      // When it is over anyway, nothing may follow: the ledger would pass over what was taken back.
      if (stopping.aborted) for (const partition of left) partition.close()
      else if (left.length > 0) await ends.startAnew(left)
    })
  }
}
