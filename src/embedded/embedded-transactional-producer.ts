import { PolluxError } from '../errors.ts'
import type {
  GroupMember,
  OutgoingRecord,
  Position,
  TransactionalProducer,
  TransactionResult,
} from '../ports/broker.ts'
import type { BatchWriter } from './batch-writer.ts'
import { EmbeddedMember } from './embedded-member.ts'
import { emptyGroup, notOwned } from './group-state.ts'
import type { LogStorage, LogWrites } from './log-storage.ts'
import { checkPositions } from './positions.ts'
import { closedError } from './refusals.ts'

/** Writes records and stores positions in one transaction of the embedded log. */
export class EmbeddedTransactionalProducer implements TransactionalProducer {
  readonly #id: string
  readonly #epoch: number
  readonly #log: LogStorage
  readonly #writer: BatchWriter
  readonly #closed: () => void
  #isClosed = false

  private constructor(parts: TransactionalParts, epoch: number) {
    this.#id = parts.id
    this.#epoch = epoch
    this.#log = parts.log
    this.#writer = parts.writer
    this.#closed = () => parts.closed(this)
  }

  /** Takes the id from whoever had it. */
  static async open(parts: TransactionalParts): Promise<EmbeddedTransactionalProducer> {
    const epoch = await parts.log.write((log) => {
      const next = (log.producerEpoch(parts.id) ?? 0) + 1
      log.saveProducerEpoch(parts.id, next)
      return next
    })
    return new EmbeddedTransactionalProducer(parts, epoch)
  }

  async transact(
    records: readonly OutgoingRecord[],
    positions: readonly Position[],
    member: GroupMember,
  ): Promise<TransactionResult> {
    if (this.#isClosed) throw closedError('The transactional producer')
    const { group, id } = ownMember(member).identity
    checkPositions(positions)
    const batch = this.#writer.prepare(records)
    return await this.#log.write((log) => {
      this.#checkEpoch(log)
      if (notOwned(log.group(group) ?? emptyGroup, id, positions).length > 0)
        return { outcome: 'aborted', refusals: [] }
      const placed = this.#writer.place(log, batch)
      if (placed.refusals.length > 0) return { outcome: 'aborted', refusals: placed.refusals }
      this.#writer.append(log, placed)
      log.saveOffsets(group, positions)
      return { outcome: 'committed' }
    })
  }

  check(record: OutgoingRecord): Error | undefined {
    return this.#writer.check(record)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#closed()
  }

  #checkEpoch(log: LogWrites): void {
    if (log.producerEpoch(this.#id) === this.#epoch) return
    throw new PolluxError(
      'POLLUX_BROKER_REFUSED',
      `The transactional producer '${this.#id}' was fenced.`,
      { hint: 'A newer producer has the same id; each process needs one of its own.' },
    )
  }
}

/** What a transactional producer is made of. */
export interface TransactionalParts {
  readonly id: string
  readonly log: LogStorage
  readonly writer: BatchWriter
  readonly closed: (producer: EmbeddedTransactionalProducer) => void
}

function ownMember(member: GroupMember): EmbeddedMember {
  if (member instanceof EmbeddedMember) return member
  throw new PolluxError(
    'POLLUX_BROKER_REFUSED',
    'A transaction cannot store positions for this member.',
    {
      expected: 'a member that joined by an embedded broker',
      found: 'an object of another kind',
    },
  )
}
