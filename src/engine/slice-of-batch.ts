import type { PolluxError } from '../errors.ts'
import type { StoreTransaction } from '../ports/store.ts'
import type { AttemptParts } from './attempt.ts'
import { callForMany, type Decoded, type Verdict } from './batch-call.ts'
import { BatchRun } from './batch-run.ts'
import type { Batch, BatchSource } from './batch-source.ts'
import type { BatchOutcomes } from './batches.ts'
import type { Lanes } from './lanes.ts'
import type { Outage } from './outage.ts'
import type { Work } from './partition.ts'
import { type Filled, grant, type Slice, type SliceContents } from './slices.ts'

/** What it needs of its surroundings. */
export interface SliceOfBatchParts {
  readonly attempts: AttemptParts
  readonly source: BatchSource
  readonly lanes: Pick<Lanes, 'leave' | 'keyOf'>
  readonly outcomes: Pick<BatchOutcomes, 'skipped' | 'failed' | 'dropped' | 'behind'>
  readonly outage: Pick<Outage, 'mayStart'>
}

/** A batch that is handled in a transaction behind one savepoint, or in halves behind one each. */
export class SliceOfBatch implements SliceContents {
  readonly #parts: SliceOfBatchParts

  constructor(parts: SliceOfBatchParts) {
    this.#parts = parts
  }

  next(): Slice | undefined {
    if (!this.#parts.outage.mayStart(0)) return undefined
    const batch = this.#parts.source.take()
    return batch && ((transaction) => this.#fill(transaction, batch))
  }

  async #fill(transaction: StoreTransaction, { works, skipped }: Batch): Promise<Filled> {
    const { attempts, lanes, outcomes } = this.#parts
    const done: Work[] = []
    const back = new Set<Work>()
    for (const work of skipped) outcomes.skipped(work)
    done.push(...skipped)
    await new BatchRun({
      attempts,
      call: (given) => this.#call(transaction, given),
      takesBack: true,
      isBroken: () => transaction.broken !== undefined,
      succeeded: (work, attempt) => {
        attempt.keep()
        done.push(work)
      },
      failed: (work: Work, error: PolluxError) => {
        const fate = outcomes.failed(work, error)
        if (fate === 'letter') done.push(work)
        if (fate === 'held') back.add(work)
        return fate
      },
      dropped: (work) => outcomes.dropped(work),
      behind: (work) => {
        back.add(work)
        outcomes.behind(work)
      },
      laneOf: (work) => lanes.keyOf(work),
      unfinished: (work) => void done.push(work),
    }).run(works)
    for (const work of [...works, ...skipped]) if (!back.has(work)) lanes.leave(work)
    return { works: done }
  }

  /** Rolled back as soon as one message has failed: what was written for it cannot be told from the rest. */
  async #call(
    transaction: StoreTransaction,
    given: readonly Decoded[],
  ): Promise<readonly Verdict[]> {
    const { attempts } = this.#parts
    let verdicts: readonly Verdict[] = []
    const partly = new Error('a message of the batch has failed')
    try {
      await transaction.attempt(async (capability) => {
        verdicts = await callForMany(attempts, given, grant(attempts.service.uses, capability))
        if (verdicts.some(({ error }) => error !== undefined)) throw partly
      })
    } catch (cause) {
      if (cause !== partly || transaction.broken !== undefined) throw cause
    }
    return verdicts
  }
}
