import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PGlite } from '@electric-sql/pglite'
import { errorText, PolluxError } from '../../errors.ts'
import { readInteger } from '../../sql/rows.ts'
import type { SqlConnection, SqlRow, SqlSession } from '../../sql/sql.ts'
import { sqlState } from '../../sql/sql-errors.ts'
import { type FolderLock, lockFolder } from '../folder-lock.ts'
import { passBinaryArrays, valueOptions } from './pglite-values.ts'

/** PGlite 0.5 is PostgreSQL 18, and reads only its own data. */
const postgresVersion = '18'

/**
 * Opens PGlite: in memory, or in `folder`, where it has `pglite/` (PostgreSQL's data),
 * `pglite.lock` and `pglite.pid`. A new database takes some seconds, as PostgreSQL sets up its
 * catalogue; an existing one less than one.
 * @throws POLLUX_DRIVER_MISSING, POLLUX_FOLDER_LOCKED, POLLUX_FOLDER_INVALID
 */
export async function connectPglite(folder: string | undefined): Promise<SqlConnection> {
  const driver = await loadDriver()
  if (folder === undefined) return new PgliteConnection(await driver.PGlite.create(valueOptions))
  const lock = lockFolder(folder, 'pglite')
  try {
    return new PgliteConnection(await openFolder(driver, folder), lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

type Driver = typeof import('@electric-sql/pglite')

async function loadDriver(): Promise<Driver> {
  try {
    return await import('@electric-sql/pglite')
  } catch (cause) {
    throw new PolluxError(
      'POLLUX_DRIVER_MISSING',
      'The embedded store needs the package @electric-sql/pglite.',
      {
        found: errorText(cause),
        hint: 'Install it: npm install @electric-sql/pglite@0.5.14',
        cause,
      },
    )
  }
}

async function openFolder(driver: Driver, folder: string): Promise<PGlite> {
  const data = join(folder, 'pglite')
  const marker = join(folder, 'pglite.new')
  // A process that dies while it makes the database leaves half of one, which cannot be opened.
  // Nothing was ever committed to it: the marker goes away before the first commit can come.
  if (existsSync(marker)) rmSync(data, { recursive: true, force: true })
  const isNew = !existsSync(data)
  if (isNew) {
    writeFileSync(marker, '')
    mkdirSync(data)
  } else {
    checkVersion(data)
  }
  const database = await create(driver, data)
  if (isNew) rmSync(marker)
  return database
}

function checkVersion(data: string): void {
  const file = join(data, 'PG_VERSION')
  const found = existsSync(file)
    ? `PostgreSQL ${readFileSync(file, 'utf8').trim()}`
    : 'no PG_VERSION file'
  if (found === `PostgreSQL ${postgresVersion}`) return
  throw new PolluxError(
    'POLLUX_FOLDER_INVALID',
    `The folder ${data} holds no database that this version can read.`,
    {
      expected: `data of PostgreSQL ${postgresVersion}`,
      found,
      hint: 'Give another folder, or move this one away.',
    },
  )
}

async function create(driver: Driver, data: string): Promise<PGlite> {
  try {
    return await driver.PGlite.create(data, valueOptions)
  } catch (cause) {
    throw new PolluxError('POLLUX_FOLDER_INVALID', `The database in ${data} cannot be opened.`, {
      found: errorText(cause),
      hint: 'Its files are damaged, or no space is left. Restore a copy, or move the folder away to start anew.',
      cause,
    })
  }
}

/**
 * The write-ahead log may grow this long before it is cut; it is looked at once in a quarter of it.
 */
const logLimit = 64 * 1024 ** 2
/** About what a statement adds to the log beside its parameters. */
const statementBytes = 16 * 1024

const inFailedTransaction = '25P02'

/**
 * PGlite is one PostgreSQL session. Whoever uses it holds it: one statement, or a transaction, at a
 * time, and the others wait. PGlite itself takes one statement at a time, so reads may come between.
 */
class PgliteConnection implements SqlConnection {
  readonly #database: PGlite
  readonly #lock: FolderLock | undefined
  /** Bytes that statements may have added to the log since it was looked at. */
  #unseen = 0
  /** Settles when the last of those who wait has had its turn. */
  #turns: Promise<void> = Promise.resolve()
  /** While a session is nobody else's, not even for reads: settles when that ends. */
  #exclusive: Promise<void> | undefined

  constructor(database: PGlite, lock?: FolderLock) {
    passBinaryArrays(database)
    this.#database = database
    this.#lock = lock
  }

  async query(text: string, params: readonly unknown[] = []): Promise<readonly SqlRow[]> {
    const end = await this.#turn()
    try {
      return await this.#run(text, params)
    } finally {
      end()
    }
  }

  call(text: string, params: readonly unknown[]): Promise<readonly SqlRow[]> {
    return this.query(text, params)
  }

  async read(text: string, params: readonly unknown[]): Promise<readonly SqlRow[]> {
    for (;;) {
      while (this.#exclusive !== undefined) await this.#exclusive
      try {
        return await this.#run(text, params)
      } catch (error) {
        // A statement of the session has failed, which takes that back next.
        if (sqlState(error) !== inFailedTransaction) throw error
        await nextTurn()
      }
    }
  }

  async session({ sharesReads } = { sharesReads: false }): Promise<SqlSession> {
    const end = await this.#turn()
    const exclusion = Promise.withResolvers<void>()
    const exclude = (): void => {
      this.#exclusive = exclusion.promise
    }
    if (!sharesReads) exclude()
    let isReleased = false
    return {
      query: (text, params = []) => this.#run(text, params),
      call: (text, params) => this.#run(text, params),
      run: async (text) => {
        await nextTurn()
        await this.#database.exec(text)
      },
      endSharing: exclude,
      release: (isBroken) => {
        if (isReleased) return
        isReleased = true
        // There is no other session to take: what this one left open is taken back.
        const isReady = isBroken ? this.#database.exec('rollback').catch(() => {}) : undefined
        void Promise.resolve(isReady).then(() => {
          if (this.#exclusive === exclusion.promise) this.#exclusive = undefined
          exclusion.resolve()
          end()
        })
      },
    }
  }

  /** Waits for those who came before. Gives what ends the turn. */
  async #turn(): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = this.#turns
    this.#turns = promise
    await before
    try {
      // Before the first statement, so that a failure means that nothing was done.
      if (this.#unseen > logLimit / 4) await this.#tidy()
    } catch (error) {
      resolve()
      throw error
    }
    return resolve
  }

  async close(): Promise<void> {
    try {
      await this.#turns
      await this.#database.close()
    } finally {
      this.#lock?.release()
    }
  }

  /**
   * PGlite has none of PostgreSQL's background processes: nobody else cuts the log, or frees dead
   * rows.
   */
  async #tidy(): Promise<void> {
    this.#unseen = 0
    const [row] = await this.#run(
      'select (pg_current_wal_lsn() - redo_lsn)::int8 as length from pg_control_checkpoint()',
      [],
    )
    if (readInteger(row?.['length']) < logLimit) return
    await this.#run('vacuum (analyze)', [])
    await this.#run('checkpoint', [])
  }

  async #run(text: string, params: readonly unknown[]): Promise<readonly SqlRow[]> {
    for (const param of params) this.#unseen += sizeOf(param)
    this.#unseen += statementBytes
    // PGlite answers before anything else can happen. Who asks again and again would let nothing else
    // happen for as long as that goes on.
    await nextTurn()
    return (await this.#database.query<SqlRow>(text, [...params])).rows
  }
}

function sizeOf(param: unknown): number {
  return typeof param === 'string' || param instanceof Uint8Array ? param.length : 0
}
