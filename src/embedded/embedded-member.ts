import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setImmediate as turn } from 'node:timers/promises'
import { PolluxError } from '../errors.ts'
import type { RawMessage } from '../message.ts'
import type {
  AssignedPartition,
  GroupListener,
  GroupMember,
  Position,
  Subscription,
  TopicPartition,
} from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import { type Cursor, fetchRecords } from './fetch-records.ts'
import {
  addMember,
  emptyGroup,
  findMember,
  type GroupState,
  notOwned,
  releasePartitions,
  removeMembers,
  takePartitions,
} from './group-state.ts'
import { type HeldPartition, HeldPartitions, names } from './held-partitions.ts'
import type { LogStorage, LogWrites, Session } from './log-storage.ts'
import { partitionKey } from './partition-key.ts'
import { PollWait } from './poll-wait.ts'
import { checkPositions } from './positions.ts'
import { closedError, knownTopic } from './refusals.ts'
import { trimPartition } from './retention.ts'
import { startPosition } from './start-position.ts'

/** What a member is made of. */
export interface MemberParts {
  readonly log: LogStorage
  readonly session: Session
  readonly clock: Clock
  readonly subscription: Subscription
  readonly listener: GroupListener
  readonly closed: (member: EmbeddedMember) => void
}

/**
 * One member of a group. What it may do is written in the group's state, which any process may change; it looks
 * there after each change and takes one step after the other until its partitions are those of its target.
 */
export class EmbeddedMember implements GroupMember {
  readonly #parts: MemberParts
  readonly #wait: PollWait
  readonly #held = new HeldPartitions()
  readonly #stopListening: () => void
  #id = newMemberId()
  /** Set when the group has removed us; nothing is delivered until we are in it again. */
  #isFenced = false
  #isAssigning = false
  #isStepping = false
  /** The group's state in which there was nothing to do; looking at it again is not needed. */
  #settled: GroupState | undefined
  #steps: Promise<void> = Promise.resolve()
  #failure: { readonly error: unknown } | undefined
  #leaving: Promise<void> | undefined
  #isClosed = false

  private constructor(parts: MemberParts) {
    this.#parts = parts
    this.#wait = new PollWait((max) => this.#gather(max))
    this.#stopListening = parts.log.onChange(() => {
      try {
        this.#changed()
      } catch (error: unknown) {
        this.#fail(error)
      }
    })
  }

  /** Enters the group. The first call of the listener comes after the caller has the member in hand. */
  static async join(parts: MemberParts): Promise<EmbeddedMember> {
    const member = new EmbeddedMember(parts)
    member.#isStepping = true
    try {
      await member.#enter()
    } catch (error: unknown) {
      member.#stopListening()
      throw error
    }
    setImmediate(() => {
      member.#isStepping = false
      if (!member.#isClosed) member.#startSteps()
    })
    return member
  }

  /** As whom it stores positions; another one once it was removed from the group and has entered again. */
  get identity(): { readonly group: string; readonly id: string } {
    return { group: this.#parts.subscription.group, id: this.#id }
  }

  poll(max: number): Promise<readonly RawMessage[]> {
    if (this.#isClosed) return Promise.reject(closedError('The group member'))
    const failure = this.#failure
    if (failure !== undefined) {
      this.#failure = undefined
      return Promise.reject(failure.error)
    }
    try {
      // A process that slept may have lost its partitions without any news of it so far.
      this.#changed()
    } catch (error: unknown) {
      return Promise.reject(error)
    }
    return this.#wait.poll(max)
  }

  pause(partitions: readonly TopicPartition[]): void {
    for (const held of this.#held.find(partitions)) held.isPaused = true
  }

  resume(partitions: readonly TopicPartition[]): void {
    for (const held of this.#held.find(partitions)) held.isPaused = false
    this.#wait.wake()
  }

  async seek(positions: readonly Position[]): Promise<void> {
    if (this.#isClosed) throw closedError('The group member')
    checkPositions(positions)
    this.#held.move(positions)
    this.#wait.wake()
    // What a poll has gathered before reaches its caller before our caller goes on.
    await turn()
  }

  async commit(positions: readonly Position[]): Promise<void> {
    if (this.#isClosed) throw closedError('The group member')
    checkPositions(positions)
    const { group, id } = this.identity
    await this.#parts.log.write((tables) => {
      // Asked inside the transaction: between an earlier look and this one the partition may have a new owner.
      const foreign = notOwned(tables.group(group) ?? emptyGroup, id, positions)
      if (foreign.length > 0) throw commitRefused(group, foreign)
      tables.saveOffsets(group, positions)
    })
  }

  leave(): Promise<void> {
    this.#leaving ??= this.#leave()
    return this.#leaving
  }

  async #leave(): Promise<void> {
    this.#wait.end()
    await this.#steps
    const { log, listener, subscription, closed } = this.#parts
    try {
      this.#checkMembership()
      const held = this.#held.all()
      if (held.length > 0) await this.#callRevoked(held, listener)
      // Given up by now. Else: the write takes us out of the group, the news of it comes before the write resolves, and
      // we would take our own leaving for a removal.
      this.#held.remove(held)
      await log.write((tables) => {
        const group = tables.group(subscription.group) ?? emptyGroup
        const left = removeMembers(group, ({ id }) => id === this.#id, countPartitions(tables))
        if (left !== group) tables.saveGroup(subscription.group, left)
      })
    } finally {
      this.#isClosed = true
      this.#held.remove(this.#held.all())
      this.#stopListening()
      this.#wait.end()
      closed(this)
    }
  }

  #changed(): void {
    if (this.#settled === undefined || this.#group() !== this.#settled) {
      this.#checkMembership()
      this.#startSteps()
    }
    this.#wait.wake()
  }

  /** The same object until it changes. */
  #group(): GroupState {
    return this.#parts.log.reads.group(this.#parts.subscription.group) ?? emptyGroup
  }

  #checkMembership(): void {
    if (this.#isFenced) return
    if (findMember(this.#group(), this.#id) !== undefined) return
    this.#isFenced = true
    this.#settled = undefined
    // While `assigned` is being awaited, no other call may be made; `#take` makes this one after it.
    if (!this.#isAssigning) this.#loseAll()
  }

  #loseAll(): void {
    const held = this.#held.all()
    this.#held.remove(held)
    const { subscription, listener } = this.#parts
    if (held.length === 0) return
    subscription.logger.warn(
      { group: subscription.group, partitions: held.map(partitionKey) },
      'The group has removed this member, which did not show life in time. It joins again.',
    )
    listener.lost(names(held))
  }

  #startSteps(): void {
    if (this.#isStepping || this.#leaving !== undefined) return
    this.#isStepping = true
    this.#steps = this.#takeSteps()
  }

  async #takeSteps(): Promise<void> {
    try {
      for (;;) {
        // No await between finding nothing to do and saying so: a change in between would go unseen.
        const step = this.#leaving === undefined ? this.#nextStep() : undefined
        if (step === undefined) break
        await step()
      }
    } catch (error: unknown) {
      this.#fail(error)
    }
    this.#isStepping = false
  }

  #nextStep(): (() => Promise<void>) | undefined {
    this.#checkMembership()
    if (this.#isFenced) return () => this.#enter()
    const group = this.#group()
    const target = new Set(findMember(group, this.#id)?.target.map(partitionKey))
    const wanted = this.#held.all().filter((held) => !target.has(partitionKey(held)))
    if (wanted.length > 0) return () => this.#giveBack(wanted)
    if (takePartitions(group, this.#id).taken.length > 0) return () => this.#take()
    this.#settled = group
    return undefined
  }

  async #enter(): Promise<void> {
    const { log, session, subscription } = this.#parts
    const { group: name, topics } = subscription
    const id = newMemberId()
    await log.write((tables) => {
      tables.saveSession(session)
      const member = {
        id,
        session: session.id,
        clientId: 'pollux',
        host: hostname(),
        topics: [...new Set(topics)],
      }
      tables.saveGroup(
        name,
        addMember(tables.group(name) ?? emptyGroup, member, countPartitions(tables)),
      )
    })
    this.#id = id
    this.#isFenced = false
  }

  async #take(): Promise<void> {
    const { log, listener, subscription } = this.#parts
    const id = this.#id
    const found = await log.write((tables) => this.#takeInside(tables, id))
    this.#checkMembership()
    // Leaving, or removed meanwhile: the listener never hears of them, and they are free again with our leaving.
    if (this.#leaving !== undefined || this.#isFenced || found.length === 0) return
    for (const { assigned: place, warning } of found) {
      if (warning !== undefined) subscription.logger.warn(place, warning)
    }
    const assigned = found.map((one) => one.assigned)
    const held = this.#held.add(assigned)
    this.#isAssigning = true
    let positions: readonly Position[]
    try {
      positions = await listener.assigned(assigned)
      checkPositions(positions)
    } finally {
      this.#isAssigning = false
      if (this.#isFenced) this.#loseAll()
    }
    const stillHeld = held.filter((one) => this.#held.has(one))
    const chosen = new Map(positions.map((position) => [partitionKey(position), position.offset]))
    for (const one of stillHeld) {
      one.position = chosen.get(partitionKey(one)) ?? one.position
      one.phase = 'reading'
    }
    subscription.logger.debug(
      { partitions: stillHeld.map(partitionKey) },
      'Partitions were assigned.',
    )
    this.#wait.wake()
  }

  #takeInside(
    tables: LogWrites,
    id: string,
  ): readonly { readonly assigned: AssignedPartition; readonly warning: string | undefined }[] {
    const { subscription, clock } = this.#parts
    const { group, taken } = takePartitions(tables.group(subscription.group) ?? emptyGroup, id)
    if (taken.length === 0) return []
    tables.saveGroup(subscription.group, group)
    const offsets = new Map(
      tables.offsets(subscription.group).map((one) => [partitionKey(one), one]),
    )
    return taken.map((partition) => {
      trimPartition(tables, knownTopic(tables, partition.topic), partition.partition, clock.now())
      const { offset: committed, metadata } = offsets.get(partitionKey(partition)) ?? {}
      const { start, warning } = startPosition(
        committed,
        tables.range(partition),
        subscription.start,
      )
      const assigned = { ...partition, committed, start, ...(metadata ? { metadata } : {}) }
      return { assigned, warning }
    })
  }

  async #giveBack(wanted: readonly HeldPartition[]): Promise<void> {
    const { log, listener, subscription } = this.#parts
    const id = this.#id
    await this.#callRevoked(wanted, listener)
    // What was lost meanwhile is not ours to release any more.
    const ours = wanted.filter((one) => this.#held.has(one))
    this.#held.remove(ours)
    if (ours.length === 0) return
    await log.write((tables) => {
      const group = tables.group(subscription.group) ?? emptyGroup
      tables.saveGroup(subscription.group, releasePartitions(group, id, ours))
    })
  }

  async #callRevoked(held: readonly HeldPartition[], listener: GroupListener): Promise<void> {
    for (const one of held) one.phase = 'leaving'
    try {
      await listener.revoked(names(held))
    } catch (error: unknown) {
      // The partitions go on to their next owner all the same; the caller hears of it at its next poll.
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (!this.#wait.fail(error)) this.#failure = { error }
  }

  #gather(max: number): readonly RawMessage[] {
    if (this.#isFenced) return []
    return fetchRecords(this.#parts.log.reads, this.#held.readable(), max, (...gap) =>
      this.#missed(...gap),
    )
  }

  #missed(cursor: Cursor, earliest: number): number {
    const { log, subscription } = this.#parts
    const { start, warning } = startPosition(
      cursor.position,
      log.reads.range(cursor),
      subscription.start,
    )
    if (warning !== undefined) subscription.logger.warn({ ...names([cursor])[0], start }, warning)
    return Math.max(start, earliest)
  }
}

function newMemberId(): string {
  return `pollux-${process.pid}-${randomUUID()}`
}

function countPartitions(log: LogWrites): (topic: string) => number {
  return (topic) => log.topic(topic)?.partitions ?? 0
}

function commitRefused(group: string, foreign: readonly TopicPartition[]): PolluxError {
  return new PolluxError('POLLUX_BROKER_REFUSED', `Group '${group}' refuses the commit.`, {
    expected: 'partitions that this member owns',
    found: `${foreign.map(partitionKey).join(', ')}, which another member may own now`,
    hint: 'Drop the work of these partitions.',
  })
}
