import { randomUUID } from 'node:crypto'
import { removeMembers } from './group-state.ts'
import type { LogStorage, LogWrites, Session } from './log-storage.ts'
import { isProcessGone, processHost } from './process-liveness.ts'
import { SessionWatch } from './session-watch.ts'

/** Beats in one timeout, at least. */
const beatsPerTimeout = 10
/** Also how soon an ended process is noticed, so it does not grow with the timeout. In milliseconds. */
const longestInterval = 500

/**
 * Keeps the session of one connection alive, and ends those of processes that died or hang. Works by the
 * machine's own time, as other processes cannot follow a clock that is moved by hand.
 */
export class SessionKeeper {
  readonly session: Session = { id: randomUUID(), beats: 0, pid: process.pid, host: processHost }
  readonly #log: LogStorage
  readonly #interval: number
  readonly #watch: SessionWatch
  #timer: NodeJS.Timeout | undefined
  #lastLook = 0
  #beating: Promise<void> | undefined

  /** `timeout` in milliseconds. */
  constructor(log: LogStorage, timeout: number) {
    this.#log = log
    this.#interval = Math.max(1, Math.min(timeout / beatsPerTimeout, longestInterval))
    this.#watch = new SessionWatch(timeout, this.#interval)
  }

  /** Starts to beat. Idempotent. The session itself is written by the transaction that adds a member. */
  start(): void {
    if (!this.#log.isShared || this.#timer !== undefined) return
    this.#lastLook = performance.now()
    this.#timer = setInterval(() => {
      // A slow transaction must not pile up beats.
      this.#beating ??= this.#beat().finally(() => {
        this.#beating = undefined
      })
    }, this.#interval).unref()
  }

  /** Ends the session of a connection without members. */
  async stop(): Promise<void> {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    await this.#beating
    await this.#log.write((log) => log.removeSession(this.session.id))
  }

  /** Takes away from their groups the members of processes that have ended. */
  async expireEnded(): Promise<void> {
    await this.#expire(this.#log.reads.sessions().filter(isProcessGone))
  }

  async #beat(): Promise<void> {
    try {
      const now = performance.now()
      const others = this.#log.reads.sessions().filter(({ id }) => id !== this.session.id)
      const silent = this.#watch.look(others, now - this.#lastLook)
      this.#lastLook = now
      await this.#log.write((log) => log.beat(this.session.id))
      await this.#expire([...silent, ...others.filter(isProcessGone)])
    } catch {
      // A beat that fails is a beat missed: when it goes on, the others end this session, and the members see that.
    }
  }

  async #expire(dead: readonly Session[]): Promise<void> {
    if (dead.length > 0) await this.#log.write((log) => endSessions(log, dead))
  }
}

/** Removes sessions that have not beaten since they were judged, and their members. */
export function endSessions(log: LogWrites, dead: readonly Session[]): void {
  const beats = new Map(log.sessions().map((session) => [session.id, session.beats]))
  const ended = new Set(
    dead.filter((session) => beats.get(session.id) === session.beats).map(({ id }) => id),
  )
  if (ended.size === 0) return
  for (const id of ended) log.removeSession(id)
  for (const name of log.groupNames()) {
    const group = log.group(name)
    if (group === undefined) continue
    const left = removeMembers(
      group,
      ({ session }) => ended.has(session),
      (topic) => log.topic(topic)?.partitions ?? 0,
    )
    if (left !== group) log.saveGroup(name, left)
  }
}
