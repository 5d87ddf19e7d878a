import { setTimeout as sleep } from 'node:timers/promises'
import { PolluxError } from '../errors.ts'
import type {
  GroupMember,
  OutgoingRecord,
  Position,
  Refusal,
  TransactionalProducer,
  TransactionResult,
} from '../ports/broker.ts'
import type { ConnectionContext } from './connect-client.ts'
import type { DriverError } from './driver.ts'
import { brokerError, closedError, errorNumber, isPassing, kafkaErrors } from './errors.ts'
import { committedPositions } from './lookups.ts'
import { KafkaMember } from './member.ts'
import type { Membership } from './membership.ts'
import { bare, type Holding } from './partitions.ts'
import { patiently, settlesWithin } from './patience.ts'
import { checkSize } from './record-size.ts'
import type { TransactionClient } from './transaction-client.ts'
import { TransactionRecords } from './transaction-records.ts'

/** What a transactional producer is made of. */
export interface TransactionalParts {
  readonly id: string
  readonly context: ConnectionContext
  readonly maxBytes: number
  /** After how many milliseconds the broker aborts a transaction by itself. */
  readonly timeout: number
  /** Makes a client that has taken the id; it works until `context.closed`. */
  open(context: ConnectionContext): Promise<TransactionClient>
  /** Called once the producer is closed. */
  closed(): void
}

/** One call of `transact`. */
interface Work {
  readonly records: TransactionRecords
  readonly positions: readonly Position[]
  readonly membership: Membership
  readonly holdings: readonly Holding[]
}

// The group does not know the member, or knows it in another generation.
const groupRefusals: ReadonlySet<number> = new Set([
  kafkaErrors.illegalGeneration,
  kafkaErrors.unknownMember,
  kafkaErrors.rebalanceInProgress,
  kafkaErrors.fencedInstance,
  kafkaErrors.fencedEpoch,
  kafkaErrors.staleEpoch,
])

// The broker has forgotten the producer, which was idle for days; or it misses the records of a batch that it has
// refused itself. Aborting makes the producer a new one to it.
const outOfStep: ReadonlySet<number> = new Set([
  kafkaErrors.skippedSequence,
  kafkaErrors.unknownProducerMapping,
  kafkaErrors.unknownProducer,
])

// What a producer hears once the broker has given its id a new epoch: for another producer, or as time was over.
const fencings: ReadonlySet<number> = new Set([
  kafkaErrors.fenced,
  kafkaErrors.producerFenced,
  kafkaErrors.invalidProducerEpoch,
  kafkaErrors.invalidTransactionState,
])

/** What came of an attempt: with `refused`, the records know why; with `again`, nothing, for a reason that passes. */
type Outcome = TransactionResult | 'refused' | 'again'

const notAccepted: TransactionResult = { outcome: 'aborted', refusals: [] }
const pause = 100
// How long closing waits for a call that is under way.
const closeLimit = 10_000

/** Writes records and stores positions in transactions of Kafka, one after the other. */
export class KafkaTransactionalProducer implements TransactionalProducer {
  readonly #parts: TransactionalParts
  /** Undefined while there is none that could be used: the next transaction makes one. */
  #client: TransactionClient | undefined
  #last: Promise<unknown> = Promise.resolve()
  #failure: PolluxError | undefined
  readonly #stop = new AbortController()
  /** As that of the connection, but closed with this producer. */
  readonly #context: ConnectionContext
  #closing: Promise<void> | undefined

  private constructor(parts: TransactionalParts) {
    this.#parts = parts
    const closed = AbortSignal.any([parts.context.closed, this.#stop.signal])
    this.#context = { ...parts.context, closed }
  }

  /** Resolves once the id is ours, however long that takes. */
  static async open(parts: TransactionalParts): Promise<KafkaTransactionalProducer> {
    const producer = new KafkaTransactionalProducer(parts)
    await producer.#ready()
    return producer
  }

  transact(
    records: readonly OutgoingRecord[],
    positions: readonly Position[],
    member: GroupMember,
  ): Promise<TransactionResult> {
    const result = this.#last
      .then(() => this.#transact(records, positions, member))
      .catch((error: unknown) => {
        throw this.#context.closed.aborted ? closedError('A transactional producer') : error
      })
    this.#last = result.catch(() => undefined)
    return result
  }

  check(record: OutgoingRecord): Error | undefined {
    return checkSize(record, this.#parts.maxBytes)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#stop.abort()
    if (await settlesWithin(this.#last, closeLimit)) await this.#drop()
    else {
      this.#leftAlone()
      // Taken down under a call of its own, the native part would crash.
      void this.#last.then(() => this.#drop())
    }
    this.#parts.closed()
  }

  async #transact(
    records: readonly OutgoingRecord[],
    positions: readonly Position[],
    member: GroupMember,
  ): Promise<TransactionResult> {
    this.#throwIfOver()
    const { membership } = ownMember(member)
    const holdings = membership.holdingsOf(positions)
    if (holdings === undefined) return notAccepted
    const { places, refused } = await (await this.#ready()).writer.sort(records)
    if (refused.size > 0) return aborted(refused)
    const sorted = new TransactionRecords(records, places)
    const work: Work = { records: sorted, positions, membership, holdings }
    for (;;) {
      if (!membership.holds(holdings)) return notAccepted
      const client = await this.#ready()
      const result = await this.#attempt(client, work)
      if (result === 'refused') return aborted(refusals(client, records, sorted.refused))
      if (result !== 'again') return result
    }
  }

  #throwIfOver(): void {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#context.closed.aborted) throw closedError('A transactional producer')
  }

  async #ready(): Promise<TransactionClient> {
    this.#throwIfOver()
    const { id } = this.#parts
    try {
      this.#client ??= await this.#parts.open(this.#context)
    } catch (error: unknown) {
      throw brokerError(
        `The transactional id '${id}' cannot be taken`,
        error,
        this.#context.secrets,
      )
    }
    return this.#client
  }

  async #attempt(client: TransactionClient, work: Work): Promise<Outcome> {
    const { records, positions, membership, holdings } = work
    let isCommitting = false
    try {
      await client.begin()
      const written = await records.write(client)
      if (written !== 'written') {
        await client.abort()
        return written
      }
      const isAccepted =
        positions.length === 0 ||
        (await membership.lend(holdings, (consumer) => client.sendOffsets(consumer, positions)))
      if (!isAccepted) {
        await client.abort()
        return notAccepted
      }
      isCommitting = true
      await client.commit()
      return { outcome: 'committed' }
    } catch (error: unknown) {
      return await this.#failed(client, work, error, isCommitting)
    }
  }

  async #failed(
    client: TransactionClient,
    work: Work,
    error: unknown,
    isCommitting: boolean,
  ): Promise<Outcome> {
    const code = errorNumber(error)
    if (this.#context.closed.aborted || code === undefined) {
      await client.abandon()
      throw error
    }
    if ((error as DriverError).isFatal === true)
      return await this.#ended(client, work, error as DriverError, isCommitting)
    try {
      await client.abort()
    } catch (fault: unknown) {
      return await this.#failed(client, work, fault, isCommitting)
    }
    if (groupRefusals.has(code) || !work.membership.holds(work.holdings)) return notAccepted
    if (outOfStep.has(code)) return 'again'
    if (isPassing(error)) {
      await sleep(pause)
      return 'again'
    }
    throw brokerError('A transaction cannot be committed', error, this.#context.secrets)
  }

  /**
   * The client is of no use any more. If the time of the transaction was over, most likely the broker has aborted it,
   * in an outage or because this process stood still; the driver calls that fenced, too. Whoever had the id since then
   * is fenced by the next client.
   */
  async #ended(
    client: TransactionClient,
    work: Work,
    error: DriverError,
    isCommitting: boolean,
  ): Promise<Outcome> {
    const { id, timeout } = this.#parts
    const isFenced = fencings.has(error.code)
    const isLate = isFenced && client.age >= timeout
    await this.#drop()
    if (!isLate) {
      const what = `The transactional producer '${id}' ${isFenced ? 'was fenced' : 'cannot go on'}`
      this.#failure = brokerError(what, error, this.#context.secrets)
    }
    // The broker may have committed before its answer got lost.
    if (isCommitting && (await this.#isCommitted(work))) return { outcome: 'committed' }
    if (this.#failure !== undefined) throw this.#failure
    this.#context.logger.warn(
      { transactionalId: id },
      'A transaction took longer than transaction.timeout.ms and was aborted by Kafka; it is made again',
    )
    return 'again'
  }

  /** Whether the group has these positions, which nobody else could have stored: the partitions are still ours. */
  async #isCommitted({ membership, holdings, positions }: Work): Promise<boolean> {
    if (positions.length === 0) return false
    let found: Awaited<ReturnType<typeof committedPositions>> = []
    const isOurs = await membership.lend(holdings, async (consumer) => {
      found = await patiently(this.#context.closed, () =>
        committedPositions(consumer, positions.map(bare)),
      )
    })
    return isOurs && positions.every(({ offset }, index) => found[index]?.offset === offset)
  }

  async #drop(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    if (client !== undefined && !(await client.close())) this.#leftAlone()
  }

  #leftAlone(): void {
    const { where, logger } = this.#context
    logger.warn(
      { brokers: where, transactionalId: this.#parts.id },
      'A transactional Kafka producer did not end in time; it is left alone',
    )
  }
}

function aborted(refused: ReadonlyMap<number, Error>): TransactionResult {
  const refusals = [...refused].map(([index, error]): Refusal => ({ index, error }))
  return {
    outcome: 'aborted',
    refusals: refusals.toSorted((one, other) => one.index - other.index),
  }
}

function refusals(
  client: TransactionClient,
  records: readonly OutgoingRecord[],
  refused: ReadonlyMap<number, DriverError>,
): Map<number, Error> {
  const named = [...refused].map(([place, error]): [number, Error] => [
    place,
    client.writer.refusal(records[place]?.topic ?? '', error),
  ])
  return new Map(named)
}

function ownMember(member: GroupMember): KafkaMember {
  if (member instanceof KafkaMember) return member
  throw new PolluxError(
    'POLLUX_BROKER_REFUSED',
    'A transaction cannot store positions for this member.',
    {
      expected: 'a member that joined by the same connection to Kafka',
      found: 'an object of another kind',
    },
  )
}
