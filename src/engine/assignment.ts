import type { AssignedPartition, GroupListener, Position, TopicPartition } from '../ports/broker.ts'
import type { Logger } from '../ports/logger.ts'
import type { LedgerRow, StoredOutputs } from '../ports/store.ts'
import type { Service } from '../service.ts'
import type { TakenOver } from './outside-reset.ts'
import { Partition } from './partition.ts'

/** What the rest of a service does as partitions come and go. */
export interface AssignmentHooks {
  /** Takes partitions over that were just assigned; undefined without a ledger. Gives those that are ours. */
  readonly takeOver:
    | ((partitions: readonly AssignedPartition[]) => Promise<readonly TakenOver[]>)
    | undefined
  /** Takes partitions over again that are ours; undefined without a ledger. */
  readonly acquire:
    | ((partitions: readonly TopicPartition[]) => Promise<readonly LedgerRow[]>)
    | undefined
  /**
   * @param left what earlier units stored and nobody has acknowledged, oldest first
   * @param position the group's, which does not pass the inputs of what is left
   */
  added(partition: Partition, left: readonly StoredOutputs[], position: number): void
  /** Finishes what is in work and commits it, within its time limit. */
  drain(partitions: readonly Partition[]): Promise<void>
  /** Already ended. */
  removed(partition: Partition): void
  /** Something went wrong in a call that the broker makes, and must not be lost there. */
  broken(error: unknown): void
}

/** The partitions that are ours now. */
export class Assignment implements GroupListener {
  readonly #service: Service
  readonly #hooks: AssignmentHooks
  readonly #logger: Logger
  readonly #partitions = new Map<string, Map<number, Partition>>()
  /** Ended, and being taken over again; taken out when they are wanted back meanwhile. */
  readonly #restarting = new Set<Partition>()
  /** The partitions that are ours now. */
  all: readonly Partition[] = []
  /** By name, for the ids of outputs; a store's ledger knows better. */
  topicIds: ReadonlyMap<string, string> = new Map()

  constructor(service: Service, hooks: AssignmentHooks, logger: Logger) {
    this.#service = service
    this.#hooks = hooks
    this.#logger = logger
  }

  find = (topic: string, partition: number): Partition | undefined =>
    this.#partitions.get(topic)?.get(partition)

  async assigned(assigned: readonly AssignedPartition[]): Promise<readonly Position[]> {
    try {
      const taken = this.#hooks.takeOver
        ? await this.#hooks.takeOver(assigned)
        : assigned.map((partition) => ({ assigned: partition, row: undefined }))
      const partitions = taken.map((one) => this.#add(one.assigned, one.row))
      this.#logger.info({ partitions: partitions.map(String) }, 'partitions assigned')
      return partitions.map(({ topic, partition, done }) => ({ topic, partition, offset: done }))
    } catch (error) {
      this.#hooks.broken(error)
      return []
    }
  }

  async revoked(revoked: readonly TopicPartition[]): Promise<void> {
    const partitions = this.#ours(revoked)
    if (partitions.length === 0) return
    await this.#hooks.drain(partitions)
    this.#remove(partitions)
    this.#logger.info({ partitions: partitions.map(String) }, 'partitions given up')
  }

  lost(lost: readonly TopicPartition[]): void {
    const partitions = this.#ours(lost)
    if (partitions.length === 0) return
    this.#remove(partitions)
    this.#logger.warn(
      { partitions: partitions.map(String) },
      'partitions lost: their unfinished work is dropped',
    )
  }

  /**
   * Takes ours of these over again, from what the ledger says; the work of before is dropped. Not those that are closed:
   * they are on their way to somebody else, have failed, or are at their end. The reading position is moved before the
   * partition is there again, as otherwise records from the old position could get in, and everything between the two
   * would be passed over.
   */
  async restart(
    partitions: readonly Partition[],
    seek: (positions: readonly Position[]) => Promise<void>,
  ): Promise<void> {
    const ours = partitions.filter(
      (partition) => this.find(partition.topic, partition.partition) === partition,
    )
    const closed = new Set(ours.filter(({ isClosed }) => isClosed))
    this.#remove(ours)
    const again = ours.filter((partition) => !closed.has(partition))
    for (const partition of again) this.#restarting.add(partition)
    const ledger = (await this.#hooks.acquire?.(again)) ?? []
    const next = again.flatMap((old, index) => {
      const { topic, partition, committed } = old
      const row = ledger[index]
      // A ledger that knows of no work, though there was some, has lost it: all of ours is done again.
      const assigned = { topic, partition, committed, start: row ? old.start : old.durable }
      return this.#restarting.has(old) ? [{ old, assigned, row }] : []
    })
    await seek(
      next.map(({ assigned: { topic, partition, start }, row }) => {
        return { topic, partition, offset: row?.next ?? start }
      }),
    )
    for (const { old, assigned, row } of next)
      if (this.#restarting.delete(old)) this.#add(assigned, row)
  }

  #add(assigned: AssignedPartition, ledger: LedgerRow | undefined): Partition {
    const definition = this.#service.inputs.find(({ name }) => name === assigned.topic)
    if (definition === undefined)
      throw new Error(`assigned ${assigned.topic}, which ${this.#service.name} does not read`)
    const partition = new Partition(
      definition,
      assigned.partition,
      // The ledger is the truth and the group's offset a report of it: they differ after a crash between the two.
      ledger?.next ?? assigned.start,
      assigned.committed,
      this.topicIds.get(assigned.topic) ?? '',
      ledger,
    )
    const partitions = this.#partitions.get(assigned.topic) ?? new Map<number, Partition>()
    this.#partitions.set(assigned.topic, partitions.set(assigned.partition, partition))
    this.all = [...this.all, partition]
    const position = Math.min(assigned.committed ?? assigned.start, partition.done)
    this.#hooks.added(partition, ledger?.unpublished ?? [], position)
    return partition
  }

  #ours(partitions: readonly TopicPartition[]): Partition[] {
    for (const old of this.#restarting) {
      const isWanted = partitions.some(
        ({ topic, partition }) => topic === old.topic && partition === old.partition,
      )
      if (isWanted) this.#restarting.delete(old)
    }
    return partitions.flatMap(({ topic, partition }) => this.find(topic, partition) ?? [])
  }

  #remove(partitions: readonly Partition[]): void {
    for (const partition of partitions) {
      partition.end()
      this.#partitions.get(partition.topic)?.delete(partition.partition)
      this.all = this.all.filter((other) => other !== partition)
      this.#hooks.removed(partition)
    }
  }
}
