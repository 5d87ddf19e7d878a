import { setTimeout as sleep } from 'node:timers/promises'
import type { RawMessage } from '../message.ts'
import type {
  AssignedPartition,
  GroupListener,
  GroupMember,
  Position,
  Subscription,
  TopicPartition,
} from '../ports/broker.ts'
import { Backlog } from './backlog.ts'
import { Committer } from './committer.ts'
import { type ConnectedClient, type ConnectionContext, disconnectClient } from './connect-client.ts'
import type { ConnectionLog } from './connection-log.ts'
import { call, type DriverConsumer, type DriverError, type DriverPosition } from './driver.ts'
import { brokerError, closedError, errorNumber, isPassing, kafkaErrors } from './errors.ts'
import { finishGivingUp } from './finish-giving-up.ts'
import { Intake } from './intake.ts'
import { Membership } from './membership.ts'
import { bare, type Holding, Holdings } from './partitions.ts'
import { patiently } from './patience.ts'
import { Rebalance } from './rebalance.ts'
import type { Wake } from './wake.ts'

// How long a poll waits for the first record.
const pollWait = 250
const disconnectLimit = 10_000
// How long leaving waits for the answer to a commit.
const commitLimit = 5_000
// How long leaving waits for the end of a rebalance that is none of ours: the others notice it by their next heartbeat.
const placeLimit = 5_000

/** What a member is made of. */
export interface MemberParts {
  readonly connected: ConnectedClient<DriverConsumer>
  readonly wake: Wake
  readonly subscription: Subscription
  readonly listener: GroupListener
  readonly context: ConnectionContext
  readonly sessionTimeout: number
  readonly pollLimit: number
  /** Finds where partitions start. */
  starts(
    consumer: DriverConsumer,
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
  ): Promise<readonly AssignedPartition[]>
  /** Whether the group is on its way to new assignments, by its own word. */
  isRebalancing(): Promise<boolean>
  /** Called once the member has left. */
  left(): void
}

/** A member of a group, on a consumer of the driver. */
export class KafkaMember implements GroupMember {
  /** For transactions, which store positions in the member's name. */
  readonly membership: Membership
  readonly #parts: MemberParts
  readonly #consumer: DriverConsumer
  readonly #log: ConnectionLog
  readonly #intake: Intake
  readonly #holdings = new Holdings()
  readonly #backlog = new Backlog()
  readonly #rebalance: Rebalance
  readonly #committer: Committer
  readonly #stopped = new AbortController()
  /** Partitions whose records are to be dropped from what is just being taken. */
  readonly #stale = new Map<Holding, number>()
  #leaving: Promise<void> | undefined
  #failure: unknown
  #isPolling = false

  constructor(parts: MemberParts) {
    this.#parts = parts
    this.#consumer = parts.connected.client
    this.#log = parts.connected.log
    this.membership = new Membership(this.#consumer, this.#holdings)
    const { subscription, listener, context } = parts
    this.#intake = new Intake(this.#consumer, parts.wake, (error) => this.#streamFailed(error))
    this.#rebalance = new Rebalance({
      consumer: this.#consumer,
      holdings: this.#holdings,
      listener,
      logger: subscription.logger,
      limit: parts.pollLimit,
      starts: (partitions) => parts.starts(this.#consumer, partitions, this.#stopped.signal),
      forget: (partitions) => this.#forget(partitions),
      fail: (error) => this.#fail(error),
    })
    this.#committer = new Committer({
      consumer: this.#consumer,
      holdings: this.#holdings,
      group: subscription.group,
      patience: parts.sessionTimeout,
      secrets: context.secrets,
      drive: (answer) => this.#drive(answer),
    })
  }

  /** Enters the group. */
  subscribe(): void {
    this.#consumer.subscribe(this.#parts.subscription.topics)
  }

  /** The driver's callbacks end here. */
  readonly callbacks = {
    rebalance: (error: DriverError, partitions: readonly DriverPosition[]): void => {
      this.#rebalance.handle(error.code, partitions)
      this.#intake.wake()
    },
    committed: (error: DriverError | null | undefined): void => {
      if (error === null || error === undefined) this.#log.isUp()
      this.#committer.answered(error ?? undefined)
    },
  }

  async poll(max: number): Promise<readonly RawMessage[]> {
    if (this.#leaving !== undefined) throw closedError('A group member')
    this.#isPolling = true
    try {
      return await this.#poll(max)
    } finally {
      this.#isPolling = false
    }
  }

  async #poll(max: number): Promise<readonly RawMessage[]> {
    const deadline = performance.now() + pollWait
    for (;;) {
      this.#throwFailure()
      if (!this.#backlog.isEmpty) {
        const waiting = this.#backlog.take(max, (record) => this.#isHeld(record))
        if (waiting.length > 0) return waiting
      }
      const records = this.#inOrder(await this.#take(max), max)
      if (this.#leaving !== undefined) return []
      if (records.length > 0) {
        this.#log.isUp()
        return records
      }
      this.#throwFailure()
      const left = deadline - performance.now()
      if (left <= 0) return []
      await this.#intake.rest(left)
    }
  }

  /**
   * What a commit has taken, while this poll waited for its turn at the driver's queue, comes before what the poll has
   * taken. Delivered after it, the partition's position would have passed those records already.
   */
  #inOrder(records: readonly RawMessage[], max: number): readonly RawMessage[] {
    if (this.#backlog.isEmpty) return records
    this.#backlog.add(records)
    return this.#backlog.take(max, (record) => this.#isHeld(record))
  }

  pause(partitions: readonly TopicPartition[]): void {
    this.#setPaused(partitions, true)
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#setPaused(partitions, false)
  }

  #setPaused(partitions: readonly TopicPartition[], isPaused: boolean): void {
    if (this.#leaving !== undefined) return
    const changed = this.#holdings.of(partitions).filter((holding) => holding.isPaused !== isPaused)
    for (const holding of changed) holding.isPaused = isPaused
    const running = changed.filter(({ phase }) => phase === 'ours').map(bare)
    if (running.length === 0) return
    if (isPaused) this.#consumer.pause(running)
    else this.#consumer.resume(running)
    if (!isPaused) this.#intake.wake()
  }

  async seek(positions: readonly Position[]): Promise<void> {
    if (this.#leaving !== undefined) throw closedError('A group member')
    const moves = positions.flatMap((position) => {
      const holding = this.#holdings.get(position)
      return holding === undefined || holding.phase === 'going'
        ? []
        : [{ holding, offset: position.offset }]
    })
    for (const { holding, offset } of moves) if (holding.phase === 'coming') holding.seekTo = offset
    const running = moves.filter(({ holding }) => holding.phase === 'ours')
    if (running.length === 0) return
    // Records that are being taken right now are from before.
    const holdings = running.map(({ holding }) => holding)
    this.#forget(holdings)
    for (const holding of holdings) this.#stale.set(holding, (this.#stale.get(holding) ?? 0) + 1)
    try {
      await this.#intake.alone(() =>
        Promise.all(running.map((move) => this.#seekOne(move.holding, move.offset))),
      )
    } finally {
      for (const holding of holdings) {
        const count = (this.#stale.get(holding) ?? 1) - 1
        if (count > 0) this.#stale.set(holding, count)
        else this.#stale.delete(holding)
      }
      this.#intake.wake()
    }
  }

  async #seekOne(holding: Holding, offset: number): Promise<void> {
    try {
      await patiently(this.#stopped.signal, async () => {
        if (this.#holdings.get(holding) !== holding || holding.phase !== 'ours') return
        await call((done) => this.#consumer.seek({ ...bare(holding), offset }, 2_000, done))
      })
    } catch (error: unknown) {
      if (this.#holdings.get(holding) !== holding || holding.phase !== 'ours') return
      throw brokerError(
        `Partition ${holding.topic}/${holding.partition} cannot be moved`,
        error,
        this.#parts.context.secrets,
      )
    }
  }

  commit(positions: readonly Position[]): Promise<void> {
    if (this.#isGone) return Promise.reject(closedError('A group member'))
    return positions.length === 0 ? Promise.resolve() : this.#committer.commit(positions)
  }

  leave(): Promise<void> {
    this.#leaving ??= this.#leave()
    return this.#leaving
  }

  #isGone = false

  async #leave(): Promise<void> {
    const { subscription, context } = this.#parts
    this.#stopped.abort()
    this.#intake.wake()
    this.#backlog.drop(() => true)
    try {
      await this.#awaitPlace()
      const all = this.#holdings.all().map(bare)
      if (all.length > 0) this.#consumer.pause(all)
      this.#consumer.unsubscribe()
      const deadline = performance.now() + commitLimit
      // An assignment may be on its way; it is answered, and then taken back, before we go.
      do await this.#take(100)
      while (await this.#hasWork(deadline))
      finishGivingUp(this.#consumer)
    } catch (error: unknown) {
      subscription.logger.warn(
        { error: context.secrets.scrub(String(error)) },
        'Leaving the group met an error',
      )
    }
    this.#isGone = true
    this.#committer.close()
    this.#rebalance.close()
    await this.#intake.alone(async () => {
      const isFree = await this.membership.end(disconnectLimit)
      if (isFree && (await disconnectClient(this.#consumer, disconnectLimit))) return
      subscription.logger.warn(
        { group: subscription.group },
        'A Kafka consumer did not end in time; it is left alone',
      )
    })
    this.#parts.left()
  }

  /**
   * A member without partitions waits for the end of a rebalance before it leaves. Until then librdkafka only notes that
   * it is to unsubscribe; being closed next, it goes without telling the group, which gives partitions to a member
   * that is gone, until the end of its session.
   */
  async #awaitPlace(): Promise<void> {
    const deadline = performance.now() + placeLimit
    while (this.#holdings.count === 0 && performance.now() < deadline) {
      if (this.#rebalance.hasPlace && !(await this.#parts.isRebalancing())) return
      await this.#take(100)
      await this.#intake.rest(20)
    }
  }

  /**
   * True while partitions have to be given up yet; rests a little. A commit under way is waited for: librdkafka
   * would not give up the last partition before it, and being closed meanwhile it would go without telling the
   * group, which then waits for the end of the session.
   */
  async #hasWork(deadline: number): Promise<boolean> {
    const isCommitting = this.#committer.isBusy && performance.now() < deadline
    if (this.#holdings.count === 0 && !this.#rebalance.isBusy && !isCommitting) return false
    await this.#intake.rest(20)
    return true
  }

  /** Takes records, without those that came too late. */
  async #take(max: number): Promise<RawMessage[]> {
    const records = await this.#intake.take(max)
    if (records.length === 0) return records
    if (this.#stale.size === 0 && !this.#hasGoing) return records
    return records.filter((record) => {
      const holding = this.#holdings.get(record)
      return holding !== undefined && holding.phase !== 'going' && !this.#stale.has(holding)
    })
  }

  get #hasGoing(): boolean {
    return this.#rebalance.isBusy
  }

  /** Keeps the driver's queue moving until `answer` is settled; records that come meanwhile wait for the next poll. */
  async #drive(answer: Promise<unknown>): Promise<void> {
    let isSettled = false
    const done = answer.then(
      () => {
        isSettled = true
        this.#intake.wake()
      },
      () => {
        isSettled = true
      },
    )
    while (!isSettled) {
      // Not by the intake's rest: what is already signalled would end it at once, again and again, and the poll that
      // is to take what was signalled would never get its turn of the event loop.
      if (this.#isPolling || this.#leaving !== undefined) await Promise.race([done, sleep(20)])
      else {
        const records = await this.#take(1)
        this.#backlog.add(records)
        if (records.length === 0 && !isSettled) await Promise.race([done, this.#intake.rest(20)])
      }
    }
  }

  #isHeld(record: RawMessage): boolean {
    return this.#holdings.get(record)?.isPaused === true
  }

  #forget(partitions: readonly TopicPartition[]): void {
    if (this.#backlog.isEmpty) return
    this.#backlog.drop(({ topic, partition }) =>
      partitions.some((one) => one.topic === topic && one.partition === partition),
    )
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  #fail(error: unknown): void {
    this.#failure ??= error
    this.#intake.wake()
  }

  /** An error in place of a record. */
  #streamFailed(error: DriverError): void {
    const { subscription, context } = this.#parts
    const code = errorNumber(error) ?? 0
    const text = context.secrets.scrub(error.message)
    if (
      code === kafkaErrors.autoOffsetReset ||
      code === kafkaErrors.topicNotAuthorized ||
      code === kafkaErrors.groupNotAuthorized
    ) {
      return this.#fail(
        brokerError(`Group ${subscription.group} cannot read`, error, context.secrets),
      )
    }
    if (code === kafkaErrors.fatal || code === kafkaErrors.fencedInstance) {
      // Somebody else has our place; what we hold is not ours any more.
      const all = this.#holdings.all().map(bare)
      this.#holdings.remove(all)
      if (all.length > 0) this.#parts.listener.lost(all)
      const cause = Object.assign(new Error(this.#log.reason ?? text), {
        code: kafkaErrors.fencedInstance,
      })
      return this.#fail(
        brokerError(`Group ${subscription.group} put this member out`, cause, context.secrets),
      )
    }
    if (code === kafkaErrors.maxPollExceeded) {
      subscription.logger.warn(
        { group: subscription.group },
        'The event loop was blocked for longer than pollLimit; partitions are given up',
      )
    } else if (!isPassing(error)) {
      subscription.logger.warn(
        { group: subscription.group, code },
        `The Kafka consumer reports: ${text}`,
      )
    }
  }
}
