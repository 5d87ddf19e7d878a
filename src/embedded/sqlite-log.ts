import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { PolluxError } from '../errors.ts'
import { guardedReads } from './guarded-reads.ts'
import type { LogReads, LogStorage, LogWrites } from './log-storage.ts'
import { isBusy, toPolluxError } from './sqlite-errors.ts'
import { migrate } from './sqlite-schema.ts'
import { SqliteTables } from './sqlite-tables.ts'

/** How long opening waits for another process that holds the file, in milliseconds. */
const openLimit = 10_000
/** How long a transaction may hold this thread up for another process's, before it is tried again later. */
const busyTimeout = 20
const retryDelay = 5
/** How soon changes of other processes are seen, in milliseconds. One look takes some microseconds. */
const watchInterval = 10

interface Task {
  run(log: LogWrites): void
  /** The task's own failure; the transaction goes on without it. */
  error: unknown
  done(): void
  fail(error: PolluxError): void
}

interface Opened {
  readonly database: DatabaseSync
  readonly tables: SqliteTables
  readonly reads: LogReads
  readonly dataVersion: StatementSync
}

/**
 * A log in a file, `broker.sqlite` in the folder, that several processes may use at once. What was acknowledged
 * survives a kill of the process; a crash of the whole machine may lose the last moments, never the file.
 */
export class SqliteLog implements LogStorage {
  readonly name: string
  readonly isShared = true
  readonly #file: string
  readonly #folder: string
  readonly #listeners = new Set<() => void>()
  #opening: Promise<void> | undefined
  #opened: Opened | undefined
  #queue: Task[] = []
  #isScheduled = false
  #watch: NodeJS.Timeout | undefined
  #seenVersion: unknown

  constructor(folder: string) {
    this.name = folder
    this.#folder = folder
    this.#file = join(folder, 'broker.sqlite')
  }

  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      // The next call tries again: what was wrong may have been put right.
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  get reads(): LogReads {
    return this.#required().reads
  }

  write<T>(task: (log: LogWrites) => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let result: T
    this.#queue.push({
      run: (log) => {
        result = task(log)
      },
      error: undefined,
      done: () => resolve(result),
      fail: reject,
    })
    this.#schedule()
    return promise
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    // Not unref'd: who waits for what other processes write keeps the process alive, as a socket would.
    this.#watch ??= setInterval(() => this.#look(), watchInterval)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#watch)
      this.#watch = undefined
    }
  }

  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined)
    while (this.#queue.length > 0) await this.write(() => undefined)
    clearInterval(this.#watch)
    this.#opened?.database.close()
    this.#opened = undefined
  }

  async #open(): Promise<void> {
    const deadline = performance.now() + openLimit
    for (;;) {
      try {
        this.#opened = openFile(this.#folder, this.#file)
        return
      } catch (error: unknown) {
        if (!isBusy(error)) throw toPolluxError(error, this.#file)
        if (performance.now() > deadline) {
          throw new PolluxError(
            'POLLUX_BROKER_UNREACHABLE',
            `Another process holds ${this.#file}.`,
            {
              hint: 'Look for a process that is stopped in the middle of its work.',
              cause: error,
            },
          )
        }
      }
      await sleep(retryDelay)
    }
  }

  #required(): Opened {
    if (this.#opened === undefined)
      throw new PolluxError('POLLUX_BROKER_CLOSED', `${this.#file} is not open.`)
    return this.#opened
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    // What else is asked for in this turn shares the transaction.
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#isScheduled = false
    const tasks = this.#queue
    this.#queue = []
    try {
      this.#transact(tasks)
    } catch (error: unknown) {
      if (isBusy(error)) {
        this.#queue = [...tasks, ...this.#queue]
        this.#isScheduled = true
        setTimeout(() => this.#flush(), retryDelay)
        return
      }
      for (const task of tasks) task.fail(toPolluxError(error, this.#file))
      return
    }
    for (const task of tasks) {
      if (task.error === undefined) task.done()
      else task.fail(toPolluxError(task.error, this.#file))
    }
    this.#notify()
  }

  #transact(tasks: readonly Task[]): void {
    const { database, tables } = this.#required()
    database.exec('begin immediate')
    try {
      for (const task of tasks) runTask(task, database, tables)
      database.exec('commit')
    } catch (error: unknown) {
      tables.forget()
      if (database.isTransaction) database.exec('rollback')
      throw error
    }
  }

  /** Another connection's commit changes the number that this pragma gives; our own do not. */
  #look(): void {
    if (this.#opened === undefined) return
    try {
      const version = this.#opened.dataVersion.get()?.data_version
      if (version === this.#seenVersion) return
      this.#seenVersion = version
    } catch {
      // A fault of the file shows in whatever needs the file next, with its name.
      return
    }
    this.#notify()
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

function runTask(task: Task, database: DatabaseSync, tables: SqliteTables): void {
  database.exec('savepoint task')
  try {
    task.error = undefined
    task.run(tables)
  } catch (error: unknown) {
    // Faults of the file end the transaction; a task's own refusal ends the task.
    if (!PolluxError.is(error)) throw error
    task.error = error
    tables.forget()
    database.exec('rollback to task')
  }
  database.exec('release task')
}

function openFile(folder: string, file: string): Opened {
  mkdirSync(folder, { recursive: true })
  const database = new DatabaseSync(file, { timeout: busyTimeout })
  try {
    database.exec(
      'pragma journal_mode = wal; pragma synchronous = normal; pragma journal_size_limit = 67108864',
    )
    database.exec('begin immediate')
    migrate(database, file)
    database.exec('commit')
    const tables = new SqliteTables(database)
    return {
      database,
      tables,
      reads: guardedReads(tables, file),
      dataVersion: database.prepare('pragma data_version'),
    }
  } catch (error: unknown) {
    database.close()
    throw error
  }
}
