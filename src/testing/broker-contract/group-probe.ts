import { setImmediate as turn } from 'node:timers/promises'
import type { RawMessage } from '../../message.ts'
import type {
  AssignedPartition,
  Broker,
  GroupMember,
  Position,
  TopicPartition,
} from '../../ports/broker.ts'
import { silent } from '../../ports/logger.ts'
import type { ContractCluster } from './cluster.ts'

/** Sees whether a partition ever has two owners. Shared by all probes of a group. */
export class Ownership {
  readonly violations: string[] = []
  readonly #owners = new Map<string, string>()

  take(owner: string, partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) {
      const name = partitionName(partition)
      const current = this.#owners.get(name)
      if (current !== undefined)
        this.violations.push(`${name} was given to ${owner} while ${current} had it`)
      this.#owners.set(name, owner)
    }
  }

  release(owner: string, partitions: readonly TopicPartition[]): void {
    for (const partition of partitions) {
      const name = partitionName(partition)
      if (this.#owners.get(name) === owner) this.#owners.delete(name)
    }
  }
}

/** How a probe takes part in its group. */
export interface ProbeOptions {
  readonly name?: string
  readonly group: string
  readonly topics: readonly string[]
  readonly start?: 'earliest' | 'latest'
  readonly broker?: Broker
  readonly ownership?: Ownership
  /** Most records a poll returns. Default 100. */
  readonly max?: number
  /** Commits behind each record as it comes. Default false. */
  readonly commits?: boolean
  readonly assigned?: (partitions: readonly AssignedPartition[]) => Promise<readonly Position[]>
  readonly revoked?: (partitions: readonly TopicPartition[], probe: GroupProbe) => Promise<void>
}

/** One call to the listener. */
export interface ProbeEvent {
  readonly kind: 'assigned' | 'revoked' | 'lost'
  readonly partitions: readonly string[]
}

let count = 0

/** A member of a group that polls all the time and writes down what it sees. */
export class GroupProbe {
  readonly name: string
  readonly records: RawMessage[] = []
  readonly events: ProbeEvent[] = []
  readonly assigned: AssignedPartition[] = []
  readonly owned: Set<string> = new Set()
  /** What went wrong in the poll loop; undefined when nothing did. */
  failure: unknown
  readonly #options: ProbeOptions
  #member: GroupMember | undefined
  #loop: Promise<void> = Promise.resolve()
  #isLeaving = false

  private constructor(options: ProbeOptions) {
    this.#options = options
    count += 1
    this.name = options.name ?? `member ${count}`
  }

  /** Joins and starts to poll. Leaves after the test. */
  static async join(cluster: ContractCluster, options: ProbeOptions): Promise<GroupProbe> {
    const probe = new GroupProbe(options)
    const broker = options.broker ?? (await cluster.broker())
    const { group, topics, start = 'earliest' } = options
    const listener = {
      assigned: (partitions: readonly AssignedPartition[]) => probe.#assigned(partitions),
      revoked: (partitions: readonly TopicPartition[]) => probe.#revoked(partitions),
      lost: (partitions: readonly TopicPartition[]) => probe.#lost(partitions),
    }
    const member = await cluster.within(
      'join',
      broker.join({ group, topics, start, logger: silent }, listener),
    )
    probe.#member = member
    probe.#loop = probe.#poll(member)
    cluster.defer(() => probe.leave())
    return probe
  }

  get member(): GroupMember {
    if (this.#member === undefined) throw new Error('The probe has not joined.')
    return this.#member
  }

  /** Leaves and waits for the poll loop to end. */
  async leave(): Promise<void> {
    this.#isLeaving = true
    await this.member.leave()
    await this.#loop
  }

  /** The texts of the values of one partition, in the order they came. */
  textsOf(partition: number): (string | null)[] {
    return this.records
      .filter((one) => one.partition === partition)
      .map(({ value }) => value?.toString() ?? null)
  }

  eventsOf(kind: ProbeEvent['kind']): readonly string[] {
    return this.events
      .filter((event) => event.kind === kind)
      .flatMap(({ partitions }) => partitions)
  }

  async #poll(member: GroupMember): Promise<void> {
    try {
      while (!this.#isLeaving) {
        const batch = await member.poll(this.#options.max ?? 100)
        this.records.push(...batch)
        if (this.#options.commits === true) await this.#commit(member, batch)
        await turn()
      }
    } catch (error: unknown) {
      if (!this.#isLeaving) this.failure = error
    }
  }

  async #commit(member: GroupMember, batch: readonly RawMessage[]): Promise<void> {
    const ends = new Map<string, Position>()
    for (const { topic, partition, offset } of batch) {
      if (this.owned.has(partitionName({ topic, partition }))) {
        ends.set(partitionName({ topic, partition }), { topic, partition, offset: offset + 1 })
      }
    }
    // Refused across a rebalance; the next owner reads again what was not committed.
    if (ends.size > 0) await member.commit([...ends.values()]).catch(() => undefined)
  }

  async #assigned(partitions: readonly AssignedPartition[]): Promise<readonly Position[]> {
    this.#options.ownership?.take(this.name, partitions)
    this.events.push({ kind: 'assigned', partitions: partitions.map(partitionName) })
    this.assigned.push(...partitions)
    for (const partition of partitions) this.owned.add(partitionName(partition))
    return (await this.#options.assigned?.(partitions)) ?? []
  }

  async #revoked(partitions: readonly TopicPartition[]): Promise<void> {
    this.events.push({ kind: 'revoked', partitions: partitions.map(partitionName) })
    await this.#options.revoked?.(partitions, this)
    for (const partition of partitions) this.owned.delete(partitionName(partition))
    this.#options.ownership?.release(this.name, partitions)
  }

  #lost(partitions: readonly TopicPartition[]): void {
    this.events.push({ kind: 'lost', partitions: partitions.map(partitionName) })
    for (const partition of partitions) this.owned.delete(partitionName(partition))
    this.#options.ownership?.release(this.name, partitions)
  }
}

/** `topic/partition` */
export function partitionName({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`
}
