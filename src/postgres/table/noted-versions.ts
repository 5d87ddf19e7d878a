import { PolluxError } from '../../errors.ts'
import type { Known } from '../../rows/fold.ts'
import { notedText, readNoted, rowHash } from '../../rows/noted-text.ts'
import type { Noted } from '../../rows/row-database.ts'
import type { VersionNotes } from '../../rows/table-database.ts'
import { type NotesPlace, notesMissing } from '../../rows/table-target.ts'
import { byteaArray, textArray } from '../../sql/arrays.ts'
import type { Sql, SqlSession } from '../../sql/sql.ts'
import { quoted } from './quoted.ts'

/** Notes of rows, deleted ones included, which version had an effect: so nothing older brings them back. */
export class NotedVersions implements VersionNotes<SqlSession> {
  readonly #place: NotesPlace

  constructor(place: NotesPlace) {
    this.#place = place
  }

  /**
   * Makes the table where it is missing.
   * @throws POLLUX_TARGET_MISMATCH when that is not allowed.
   */
  async open(session: SqlSession): Promise<void> {
    const { schema, name } = this.#place.table
    const statements = [
      ...(schema === undefined ? [] : [`create schema if not exists ${quoted(schema)}`]),
      `create table if not exists ${this.#place.table.quoted} (
        row bytea not null, owner text not null, known text not null, is_deleted boolean not null,
        changed_at timestamptz not null default now(), primary key (row, owner))`,
      `create index if not exists ${quoted(`${name}_deleted`)} on ${this.#place.table.quoted} (changed_at) where is_deleted`,
    ].join(';\n')
    const [found] = await session.query('select to_regclass($1) is not null as is_there', [
      this.#place.table.quoted,
    ])
    if (found?.['is_there'] === true) return
    try {
      // Two that make it at once: "if not exists" alone is not safe against that.
      await session.run(
        `begin; select pg_advisory_xact_lock(hashtext('pollux sidecar versions')); ${statements}; commit`,
      )
    } catch (error) {
      if (PolluxError.is(error)) throw error
      throw notesMissing(this.#place, statements, error)
    } finally {
      await session.run('rollback')
    }
  }

  /** Locks the notes of these rows, making those that are missing. */
  async take(sql: Sql, rows: readonly string[]): Promise<ReadonlyMap<string, Known>> {
    const params = [this.#place.owner, byteaArray(rows.map(rowHash))]
    await sql.query(
      `insert into ${this.#place.table.quoted} (owner, row, known, is_deleted)
        select $1, row, '', false from unnest($2::bytea[]) as u (row) order by row on conflict do nothing`,
      params,
    )
    // In a statement of its own, which sees what others have committed while the one before waited for them.
    const found = await sql.query(
      `select u.place::int4 as place, n.known from unnest($2::bytea[]) with ordinality as u (row, place)
        cross join lateral (select known from ${this.#place.table.quoted} as n
          where n.row = u.row and n.owner = $1 for update) as n`,
      params,
    )
    const known = new Map<string, Known>()
    for (const { place, known: text } of found) {
      const read = readNoted(String(text))
      if (read !== undefined) known.set(rows[Number(place) - 1] as string, read)
    }
    return known
  }

  async note(sql: Sql, noted: readonly Noted[]): Promise<void> {
    await sql.query(
      `insert into ${this.#place.table.quoted} as n (owner, row, known, is_deleted)
        select $1, row, known, is_deleted::boolean from unnest($2::bytea[], $3::text[], $4::text[]) as u (row, known, is_deleted)
        on conflict (row, owner) do update
          set known = excluded.known, is_deleted = excluded.is_deleted, changed_at = now()`,
      [
        this.#place.owner,
        byteaArray(noted.map(({ row }) => rowHash(row))),
        textArray(noted.map(({ known }) => notedText(known))),
        textArray(noted.map(({ isDeleted }) => String(isDeleted))),
      ],
    )
  }

  /** Forgets rows that were deleted long ago, some at a time. */
  async forget(sql: Sql): Promise<void> {
    await sql.query(
      `delete from ${this.#place.table.quoted} where ctid = any(array(select ctid from ${this.#place.table.quoted}
        where is_deleted and owner = $1 and changed_at < now() - make_interval(secs => $2::float8)
        limit 10000 for update skip locked))`,
      [this.#place.owner, this.#place.retention / 1_000],
    )
  }
}
