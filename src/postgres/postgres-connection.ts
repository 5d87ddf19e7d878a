import { createHash } from 'node:crypto'
import { errorText, PolluxError } from '../errors.ts'
import type { SqlConnection, SqlRow, SqlSession } from '../sql/sql.ts'
import { isConnectionLost, isConnectionSpent } from './connection-errors.ts'
import type { PostgresClient, PostgresPool, PostgresStatement } from './pool.ts'

export interface PostgresConnectionOptions {
  /** What errors call the database. */
  readonly name: string
  /** Milliseconds to wait for an answer, after which the connection counts as dead. */
  readonly answerLimit: number
  /** Ends the pool, when it is ours. */
  end(): Promise<void>
}

/** The sessions of a pool. */
export class PostgresConnection implements SqlConnection {
  readonly #pool: PostgresPool
  readonly #options: PostgresConnectionOptions
  /** By text. */
  readonly #names = new Map<string, string>()
  /** One for each session that is in use or waited for. */
  readonly #uses = new Set<Promise<void>>()

  constructor(pool: PostgresPool, options: PostgresConnectionOptions) {
    this.#pool = pool
    this.#options = options
    // An idle connection that ends has left the pool already; without a listener it would end the
    // process.
    pool.on('error', ignore)
  }

  query(text: string, params: readonly unknown[] = []): Promise<readonly SqlRow[]> {
    return this.#withSession((session) => session.query(text, params))
  }

  call(text: string, params: readonly unknown[]): Promise<readonly SqlRow[]> {
    return this.#withSession((session) => session.call(text, params))
  }

  read(text: string, params: readonly unknown[]): Promise<readonly SqlRow[]> {
    return this.call(text, params)
  }

  async session(): Promise<SqlSession> {
    const use = Promise.withResolvers<void>()
    this.#uses.add(use.promise)
    const end = (): void => {
      this.#uses.delete(use.promise)
      use.resolve()
    }
    try {
      const client = await this.#pool.connect()
      return new PostgresSession(client, this.#options, (text) => this.#nameOf(text), end)
    } catch (error) {
      end()
      throw unreachable(this.#options.name, error)
    }
  }

  async close(): Promise<void> {
    // A pool that is ended forgets those who still wait for a connection.
    await Promise.all(this.#uses)
    this.#pool.off('error', ignore)
    await this.#options.end()
  }

  async #withSession(
    work: (session: SqlSession) => Promise<readonly SqlRow[]>,
  ): Promise<readonly SqlRow[]> {
    const session = await this.session()
    try {
      return await work(session)
    } finally {
      session.release(false)
    }
  }

  /** Prepared statements need a name, which must not mean another one in a pool that others use too. */
  #nameOf(text: string): string {
    let name = this.#names.get(text)
    if (name === undefined) {
      name = `pollux_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
      this.#names.set(text, name)
    }
    return name
  }
}

class PostgresSession implements SqlSession {
  readonly #client: PostgresClient
  readonly #options: PostgresConnectionOptions
  readonly #nameOf: (text: string) => string
  readonly #released: () => void
  /** Set once there is no answer to be had any more. */
  #lost: PolluxError | undefined
  #isSpent = false
  #isReleased = false

  constructor(
    client: PostgresClient,
    options: PostgresConnectionOptions,
    nameOf: (text: string) => string,
    released: () => void,
  ) {
    this.#client = client
    this.#options = options
    this.#nameOf = nameOf
    this.#released = released
    // The statement that is under way gets the error too.
    client.on('error', ignore)
  }

  query(text: string, params: readonly unknown[] = []): Promise<readonly SqlRow[]> {
    // The extended protocol takes exactly one statement, with parameters or without.
    return this.#send({ text, values: [...params], queryMode: 'extended' })
  }

  call(text: string, params: readonly unknown[]): Promise<readonly SqlRow[]> {
    return this.#send({ text, values: [...params], name: this.#nameOf(text) })
  }

  async run(text: string): Promise<void> {
    await this.#send({ text })
  }

  endSharing(): void {}

  release(isBroken: boolean): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#client.release(isBroken || this.#isSpent)
    this.#client.off('error', ignore)
    this.#released()
  }

  async #send(statement: PostgresStatement): Promise<readonly SqlRow[]> {
    // Behind a statement that nobody answers, the next one would only wait for as long again.
    if (this.#lost !== undefined) throw this.#lost
    try {
      const config = { ...statement, query_timeout: this.#options.answerLimit }
      const { rows } = await this.#client.query(config)
      return rows
    } catch (error) {
      this.#isSpent ||= isConnectionSpent(error)
      const told = unreachable(this.#options.name, error)
      if (PolluxError.is(told)) this.#lost = told
      throw told
    }
  }
}

/** Errors of the connection in our words; others as they are. */
function unreachable(name: string, error: unknown): unknown {
  if (!isConnectionLost(error)) return error
  return new PolluxError('POLLUX_STORE_UNREACHABLE', `The store ${name} cannot be reached.`, {
    found: errorText(error),
  })
}

function ignore(): void {}
