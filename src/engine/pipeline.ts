import type { PolluxError } from '../errors.ts'
import type { BrokerProducer } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { AcknowledgedOutputs, Store, StoredOutputs } from '../ports/store.ts'
import type { Service } from '../service.ts'
import { type Commits, GroupCommit, type GroupCommitParts } from './group-commit.ts'
import type { LoaderParts } from './loader.ts'
import { Outbox } from './outbox.ts'
import type { Partition, StoredBatch, Work } from './partition.ts'
import { Publisher } from './publisher.ts'
import { TransactionCommit, type TransactionParts } from './transaction-commit.ts'
import type { UnitPart } from './unit.ts'

/** What becomes of messages in the end. None may throw. */
export interface Ends {
  /** Its effects are durable and its outputs acknowledged. */
  finished(work: Work): void
  /** What a previous owner has stored in a unit of this partition is published, or left to the next. */
  recovered(partition: Partition): void
  /** Given up before that; nothing built on it may be stored. */
  dropped(work: Work): void
  /** Its partition stops in front of it. */
  failed(work: Work, error: PolluxError): void
  /** Its partition is given up, and its next owner handles it. */
  handedBack(work: Work): void
  /** Outputs that are stored already are refused: the partition stops, and they stay where they are. */
  stuck(partition: Partition, error: PolluxError): void
  /** Somebody else has changed the state that their handlers were given: they are handled again. */
  again(works: readonly Work[]): void
  /** Somebody else has moved what work was built on: these partitions have to start anew. */
  overtaken(partitions: readonly Partition[], isFenced: boolean): Promise<void>
  /** The transaction that it was handled in has come to nothing. */
  takenBack(work: Work): void
  /** Drops the work of these partitions and takes them over again. */
  startAnew(partitions: readonly Partition[]): Promise<void>
  broken(error: unknown): void
}

/** What happens to a message after its handler has succeeded, until there is nothing left to do for it. */
export interface Pipeline {
  add(work: Work): void
  /** This message does not finish: its partition stops in front of it. */
  stopAt?(work: Work): void
}

/** Without a store: outputs acknowledged, and it is done. */
export function directPipeline(producer: BrokerProducer, ends: Ends): Pipeline {
  const done = (work: Work): void => {
    const { partition } = work
    if (partition.hasEnded) return ends.dropped(work)
    partition.tracker.settle(work.place)
    partition.done = partition.tracker.position
    ends.finished(work)
  }
  const publisher = new Publisher<Work>(producer, {
    acknowledged: done,
    refused: (work, error) => ends.failed(work, error),
    broken: (error) => ends.broken(error),
  })
  return {
    add: (work) => (work.outputs.length > 0 ? publisher.add(work) : done(work)),
  }
}

/** What the pipelines with a store have in common. */
export interface StoreStages extends Pipeline {
  readonly groupCommit: GroupCommit
  /** Undefined when outputs are published before the commit, or there are none. */
  readonly outbox: Outbox | undefined
}

/** What the pipelines with a store need of their surroundings. */
export interface StoreStagesParts {
  readonly service: Service
  readonly producer: BrokerProducer
  /** See `Store`. */
  readonly largestUnit: number | undefined
  /** `Store.commit`, repeated while the store cannot be reached. */
  readonly commit: Store['commit']
  /** `Store.load`, repeated likewise. */
  readonly load: LoaderParts['load']
  /** See `GroupCommitParts`. */
  readonly giveUp: NonNullable<GroupCommitParts['giveUp']>
  readonly ends: Ends
}

/** Published first, stored then. A crash in between publishes again. */
export function publishThenStore({
  service,
  producer,
  largestUnit,
  commit,
  load,
  ends,
}: StoreStagesParts): StoreStages {
  const hasOutputs = service.outputs.length > 0
  const groupCommit = new GroupCommit({
    service: service.name,
    largestUnit,
    commit,
    storesOutputs: false,
    room: () => undefined,
    // Between a handler and this lies the way to the broker and back.
    load: hasOutputs ? undefined : load,
    commits: commitsTo(ends, ({ works }) => {
      for (const work of works) ends.finished(work)
    }),
  })
  const publisher = new Publisher<Work>(producer, {
    acknowledged: (work) => (work.partition.hasEnded ? ends.dropped(work) : groupCommit.add(work)),
    refused: (work, error) => ends.failed(work, error),
    broken: (error) => ends.broken(error),
  })
  return {
    groupCommit,
    outbox: undefined,
    add: (work) =>
      hasOutputs || work.outputs.length > 0 ? publisher.add(work) : groupCommit.add(work),
  }
}

/** Stored first, published then by the same process at once. What a crash leaves goes out at the next start. */
export function storeThenPublish(
  { service, producer, largestUnit, commit, load, giveUp, ends }: StoreStagesParts,
  {
    clock,
    acknowledge,
    largest,
  }: {
    readonly clock: Clock
    readonly acknowledge: (partitions: readonly AcknowledgedOutputs[]) => Promise<void>
    /** How many bytes may be stored and not published. */
    readonly largest: number
  },
): StoreStages {
  const outbox: Outbox = new Outbox({
    publish: (batch) => publisher.add(batch),
    acknowledge,
    finished: (work) => ends.finished(work),
    recovered: (partition) => ends.recovered(partition),
    refused: ({ partition }, error) => ends.stuck(partition, error),
    clock,
    largest,
  })
  const publisher = new Publisher<StoredBatch>(producer, {
    acknowledged: (batch) => outbox.acknowledged(batch),
    refused: (batch, error) => outbox.refused(batch, error),
    broken: (error) => ends.broken(error),
  })
  const groupCommit = new GroupCommit({
    service: service.name,
    largestUnit,
    commit,
    storesOutputs: true,
    room: () => outbox.room(),
    load,
    giveUp,
    commits: commitsTo(ends, (part) => outbox.stored(part)),
  })
  return { groupCommit, outbox, add: (work) => groupCommit.add(work) }
}

function commitsTo(ends: Ends, stored: (part: UnitPart) => void): Commits {
  return {
    stored,
    dropped: (work) => ends.dropped(work),
    again: (works) => ends.again(works),
    overtaken: (partitions, isFenced) => ends.overtaken(partitions, isFenced),
    broken: (error) => ends.broken(error),
  }
}

/** Outputs and offsets in one transaction of the broker. */
export function transactionPipeline(
  { transact, pause, letters }: Pick<TransactionParts, 'transact' | 'pause' | 'letters'>,
  ends: Ends,
): Pipeline {
  const transactions = new TransactionCommit({
    transact,
    pause,
    letters,
    finished: (work) => ends.finished(work),
    dropped: (work) => ends.dropped(work),
    refused: (work, error) => ends.failed(work, error),
    broken: (error) => ends.broken(error),
  })
  return {
    add: (work) => transactions.add(work),
    stopAt: (work) => transactions.stopAt(work),
  }
}

/** Publishes what partitions have left that nobody owns any more; resolves when it is acknowledged. */
export async function publishLeft(
  producer: BrokerProducer,
  left: readonly StoredOutputs[],
): Promise<readonly Error[]> {
  const records = left.flatMap(({ records: outputs }) => outputs)
  const refusals = records.length === 0 ? [] : await producer.send(records)
  return refusals.map(({ error }) => error)
}
