import type { Known } from '../rows/fold.ts'
import { notedText, readNoted, rowHash } from '../rows/noted-text.ts'
import type { Noted } from '../rows/row-database.ts'
import type { VersionNotes } from '../rows/table-database.ts'
import { type NotesPlace, notesMissing } from '../rows/table-target.ts'
import type { Session } from './session.ts'

/** Notes of rows, deleted ones included, which version had an effect: so nothing older brings them back. */
export class NotedVersions implements VersionNotes<Session> {
  readonly #place: NotesPlace

  constructor(place: NotesPlace) {
    this.#place = place
  }

  /**
   * Makes the table where it is missing.
   * @throws POLLUX_TARGET_MISMATCH when that is not allowed.
   */
  async open(session: Session): Promise<void> {
    const statement = `create table if not exists ${this.#place.table.quoted} (
      row_hash binary(32) not null, owner varchar(400) character set utf8mb4 collate utf8mb4_bin not null,
      known text character set utf8mb4 not null, is_deleted boolean not null, changed_at datetime not null,
      primary key (row_hash, owner), key (is_deleted, changed_at)) engine = InnoDB`
    try {
      await session.run(statement)
    } catch (error) {
      if (typeof (error as { readonly sqlState?: unknown }).sqlState !== 'string') throw error
      throw notesMissing(this.#place, statement, error)
    }
  }

  /** Locks the notes of these rows, making those that are missing. */
  async take(session: Session, rows: readonly string[]): Promise<ReadonlyMap<string, Known>> {
    const hashes = new Map(rows.map((row) => [rowHash(row).toString('hex'), row]))
    const owner = session.literal(this.#place.owner)
    const values = [...hashes.keys()].map(
      (hash) => `(x'${hash}', ${owner}, '', false, utc_timestamp())`,
    )
    await session.run(`insert ignore into ${this.#place.table.quoted} values ${values.join(',')}`)
    const found = await session.rows(
      `select lower(hex(row_hash)) as hash, known from ${this.#place.table.quoted}
        where owner = ${owner} and row_hash in (${[...hashes.keys()].map((hash) => `x'${hash}'`).join(',')}) for update`,
    )
    const known = new Map<string, Known>()
    for (const { hash, known: text } of found) {
      const [row, read] = [hashes.get(String(hash)), readNoted(String(text))]
      if (row !== undefined && read !== undefined) known.set(row, read)
    }
    return known
  }

  async note(session: Session, noted: readonly Noted[]): Promise<void> {
    const owner = session.literal(this.#place.owner)
    const values = noted.map(({ row, known, isDeleted }) => {
      const hash = rowHash(row).toString('hex')
      return `(x'${hash}', ${owner}, ${session.literal(notedText(known))}, ${isDeleted}, utc_timestamp())`
    })
    await session.run(
      `insert into ${this.#place.table.quoted} (row_hash, owner, known, is_deleted, changed_at) values ${values.join(',')}
        on duplicate key update known = values(known), is_deleted = values(is_deleted), changed_at = values(changed_at)`,
    )
  }

  /** Forgets rows that were deleted long ago, some at a time. */
  async forget(session: Session): Promise<void> {
    await session.run(
      `delete from ${this.#place.table.quoted} where is_deleted and owner = ${session.literal(this.#place.owner)}
        and changed_at < utc_timestamp() - interval ${Math.ceil(this.#place.retention / 1_000)} second limit 10000`,
    )
  }
}
