import type { PoolConnection } from 'mysql2/promise'

/** A row as the driver gives it. */
export type MysqlRow = Readonly<Record<string, unknown>>

/** Writes a value as it stands in a statement. */
export type Literal = (value: string | Uint8Array | null) => string

/** One connection of the pool, until it is released. */
export class Session {
  readonly #connection: PoolConnection
  readonly #timeout: number
  /** A value as it stands in a statement. The session's mode is ours: a backslash escapes. */
  readonly literal: Literal
  #isBroken = false
  #isReleased = false

  /** @param timeout milliseconds that a statement may take */
  constructor(connection: PoolConnection, literal: Literal, timeout: number) {
    this.#connection = connection
    this.literal = literal
    this.#timeout = timeout
  }

  async rows(sql: string): Promise<readonly MysqlRow[]> {
    return (await this.#query(sql)) as unknown as readonly MysqlRow[]
  }

  /** How many rows it has met, changed or not. */
  async run(sql: string): Promise<number> {
    const { affectedRows } = (await this.#query(sql)) as { readonly affectedRows?: number }
    return affectedRows ?? 0
  }

  release(isBroken = false): void {
    if (this.#isReleased) return
    this.#isReleased = true
    if (isBroken || this.#isBroken) this.#connection.destroy()
    else this.#connection.release()
  }

  async #query(sql: string): Promise<unknown> {
    try {
      const [result] = await this.#connection.query({
        sql,
        timeout: this.#timeout,
        // Without it, the driver looks through the statement for places to put values in.
        values: null,
      })
      return result
    } catch (error) {
      const { sqlState, fatal } = error as { readonly sqlState?: unknown; readonly fatal?: unknown }
      // Only an answer of the server leaves the connection as good as it was.
      this.#isBroken ||= typeof sqlState !== 'string' || fatal === true
      throw error
    }
  }
}
