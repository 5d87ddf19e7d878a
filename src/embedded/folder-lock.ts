import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { errorText, PolluxError } from '../errors.ts'

/** A folder that is ours. */
export interface FolderLock {
  /** Idempotent. Also happens by itself when the process ends, however it ends. */
  release(): void
}

interface Holder {
  readonly pid: number
  readonly host: string
}

const sqliteBusy = 5

/**
 * Locks end when their database is closed, and the garbage collector closes what nobody refers to.
 */
const held = new Set<DatabaseSync>()

/**
 * Takes a folder for this process alone, making it where it is missing. `name` tells apart several
 * locks in one folder.
 *
 * The lock is the operating system's, on the file `<name>.lock`, taken by way of SQLite, which
 * knows how to on each system. The kernel drops it when its process dies, so there is no stale lock
 * to be judged: no pid that was used again, no two processes that both take over, no container in
 * which everybody is pid 1. The file itself stays. `<name>.pid` says who holds it, for the error
 * message only.
 *
 * @throws POLLUX_FOLDER_LOCKED when another process, or another part of this one, has it;
 * POLLUX_FOLDER_INVALID when the folder cannot be written or its file system cannot lock.
 */
export function lockFolder(folder: string, name: string): FolderLock {
  const pidFile = join(folder, `${name}.pid`)
  let database: DatabaseSync | undefined
  try {
    mkdirSync(folder, { recursive: true })
    database = new DatabaseSync(join(folder, `${name}.lock`), { timeout: 0 })
    // The transaction writes nothing and is never ended: it is the lock.
    database.exec('begin exclusive')
    writeFileSync(pidFile, JSON.stringify({ pid: process.pid, host: hostname() } satisfies Holder))
    held.add(database)
  } catch (error) {
    database?.close()
    if (isBusy(error)) throw locked(folder, readHolder(pidFile))
    throw new PolluxError('POLLUX_FOLDER_INVALID', `The folder ${folder} cannot be locked.`, {
      expected: 'a folder that this process may write, on a file system with locks',
      found: errorText(error),
      cause: error,
    })
  }
  return {
    release() {
      if (database === undefined) return
      rmSync(pidFile, { force: true })
      database.close()
      held.delete(database)
      database = undefined
    },
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && (error as { readonly errcode?: unknown }).errcode === sqliteBusy
}

/**
 * Who holds the lock; undefined in the moment between its taking the lock and its writing the file.
 */
function readHolder(file: string): Holder | undefined {
  try {
    const { pid, host } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Holder>
    return typeof pid === 'number' && typeof host === 'string' ? { pid, host } : undefined
  } catch {
    return undefined
  }
}

function locked(folder: string, holder: Holder | undefined): PolluxError {
  const isOurs = holder?.pid === process.pid && holder.host === hostname()
  return new PolluxError('POLLUX_FOLDER_LOCKED', `The folder ${folder} is in use.`, {
    expected: 'a folder that nobody else has open',
    found:
      holder === undefined
        ? 'that another process has it open'
        : `that process ${holder.pid} on ${holder.host} has it open`,
    hint: isOurs
      ? 'That is this process: close the other store first, or give this one another folder.'
      : 'Stop that process, or give this one another folder.',
  })
}
