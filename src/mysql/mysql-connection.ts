import type { Pool } from 'mysql2/promise'
import { type Driver, loadDriver } from './driver.ts'
import type { MysqlPlainOptions } from './mysql-table.ts'
import { type Literal, Session } from './session.ts'

// Idle connections are closed by us before the server does it, which nobody would notice until the next use.
const idleTimeout = 30_000

/** The sessions of a pool. In each, the mode is strict, a backslash escapes, and times are UTC, whatever the server's are. */
export class MysqlConnection {
  readonly #pool: Pool
  readonly #settings: MysqlPlainOptions

  /** A value as it stands in a statement of one of the sessions. */
  readonly literal: Literal

  private constructor(pool: Pool, driver: Driver, settings: MysqlPlainOptions) {
    this.#pool = pool
    this.#settings = settings
    this.literal = (value) =>
      driver.escape(value instanceof Uint8Array ? Buffer.from(value) : value)
  }

  static async to(uri: string, settings: MysqlPlainOptions): Promise<MysqlConnection> {
    const driver = await loadDriver()
    const pool = driver.createPool({
      uri: uri.replace(/^mariadb:/, 'mysql:'),
      connectionLimit: settings.poolSize,
      maxIdle: settings.poolSize,
      idleTimeout,
      connectTimeout: settings.connectTimeout,
      charset: 'utf8mb4',
      timezone: 'Z',
      enableKeepAlive: true,
    })
    return new MysqlConnection(pool, driver, settings)
  }

  async session(): Promise<Session> {
    const connection = await this.#pool.getConnection()
    const session = new Session(connection, this.literal, this.#settings.statementTimeout)
    if (prepared.has(connection.connection)) return session
    try {
      const seconds = Math.ceil(this.#settings.statementTimeout / 1_000)
      await session.run(
        `set session sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
          time_zone = '+00:00', innodb_lock_wait_timeout = ${seconds}, wait_timeout = ${(2 * idleTimeout) / 1_000}`,
      )
    } catch (error) {
      session.release(true)
      throw error
    }
    prepared.add(connection.connection)
    return session
  }

  async with<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.session()
    try {
      return await work(session)
    } finally {
      session.release()
    }
  }

  close(): Promise<void> {
    return this.#pool.end()
  }
}

/** Connections whose session is set up. */
const prepared = new WeakSet<object>()
