import { type ErrorCode, PolluxError } from '../errors.ts'
import type {
  AcknowledgedOutputs,
  CommitResult,
  HeldRow,
  LedgerPartition,
  LedgerRow,
  Loaded,
  Mark,
  MigratableStore,
  MigrationStep,
  Reading,
  StoreTransaction,
  Unit,
} from '../ports/store.ts'
import { acquire } from './acquire.ts'
import { int4Array, int8Array, textArray } from './arrays.ts'
import { commit } from './commit.ts'
import { holds } from './holds.ts'
import { inTransaction } from './in-transaction.ts'
import { load } from './load.ts'
import { checkMigrated, type MigrationTarget, migrate, pendingSteps } from './migrate.ts'
import { postgresTransaction } from './postgres-transaction.ts'
import { checkRights } from './rights.ts'
import { readInteger } from './rows.ts'
import type { Sql, SqlConnection } from './sql.ts'
import { storeError } from './sql-errors.ts'
import { beginTransaction } from './sql-transaction.ts'
import { verify } from './verify.ts'

export interface SqlStoreOptions {
  readonly name: string
  /** An identifier that needs no quoting beyond double quotes. */
  readonly schema: string
  /** What to reject with when a newer Pollux made the tables. */
  readonly newerCode: ErrorCode
  /** Whether opening brings the tables up to date; else it demands that they are. Default true. */
  readonly migratesAtOpen?: boolean
  /** Milliseconds that taking over waits for a former owner's transaction. Default 5 s. */
  readonly lockTimeout?: number
  /** How many messages a unit has at most. Default: as many as the engine likes. */
  readonly largestUnit?: number
  connect(): Promise<SqlConnection>
}

/** Blocks of the inbox that are looked through at once: 1 MB. */
const forgottenBlocks = '128'

/** The store on PostgreSQL's SQL, whatever runs it. */
export class SqlStore implements MigratableStore {
  readonly name: string
  readonly largestUnit: number | undefined
  readonly #options: SqlStoreOptions
  readonly #schema: string
  readonly #target: MigrationTarget
  #opening: Promise<SqlConnection> | undefined
  #connection: SqlConnection | undefined
  #closing: Promise<void> | undefined
  readonly transactions: NonNullable<MigratableStore['transactions']> = {
    capability: postgresTransaction.name,
    begin: (): Promise<StoreTransaction> =>
      this.#use((connection) =>
        beginTransaction(connection, { name: this.name, schema: this.#schema }),
      ),
  }
  /** By service: the block where the next slice of marks begins. */
  readonly #forgotten = new Map<string, string>()

  constructor(options: SqlStoreOptions) {
    this.name = options.name
    this.largestUnit = options.largestUnit
    this.#options = options
    this.#schema = `"${options.schema}"`
    const { name: storeName, newerCode } = options
    this.#target = { schema: this.#schema, storeName, newerCode }
  }

  async open(): Promise<void> {
    if (this.#closing !== undefined) throw this.#unusable('closed')
    this.#opening ??= this.#start()
    await this.#opening
  }

  async #start(): Promise<SqlConnection> {
    try {
      const connection = await this.#options.connect()
      try {
        await checkRights(connection, this.#target)
        if (this.#options.migratesAtOpen ?? true) await migrate(connection, this.#target)
        else await checkMigrated(connection, this.#target)
      } catch (error) {
        await connection.close()
        throw error
      }
      this.#connection = connection
      return connection
    } catch (error) {
      // The next `open` tries again.
      this.#opening = undefined
      throw storeError(this.name, error)
    }
  }

  acquire(service: string, partitions: readonly LedgerPartition[]): Promise<readonly LedgerRow[]> {
    const store = { schema: this.#schema, lockTimeout: this.#options.lockTimeout ?? 5_000 }
    return this.#use((connection) => acquire(connection, store, service, partitions))
  }

  load(
    service: string,
    keys: readonly Buffer[],
    marks: readonly Pick<Mark, 'topic' | 'id'>[],
  ): Promise<Loaded> {
    return this.#use((connection) => load(connection, this.#schema, service, keys, marks))
  }

  commit(unit: Unit): Promise<CommitResult> {
    return this.#use((connection) => commit(connection, this.#schema, unit))
  }

  async acknowledge(service: string, partitions: readonly AcknowledgedOutputs[]): Promise<void> {
    await this.#use((connection) =>
      connection.query(`select ${this.#schema}.pollux_acknowledge_1($1, $2, $3, $4, $5)`, [
        service,
        textArray(partitions.map(({ topic }) => topic)),
        int4Array(partitions.map(({ partition }) => partition)),
        int8Array(partitions.map(({ epoch }) => epoch)),
        int8Array(partitions.map(({ unit }) => unit)),
      ]),
    )
  }

  holds(service: string, rows: readonly HeldRow[]): Promise<readonly boolean[]> {
    return this.#use((connection) => holds(connection, this.#schema, service, rows))
  }

  async unpublished(service: string, age: number): Promise<readonly LedgerPartition[]> {
    const rows = await this.#use((connection) =>
      connection.query(
        `select ledger.topic, ledger.partition, ledger.topic_id
        from ${this.#schema}.pollux_ledger as ledger
        where ledger.service = $1 and exists (
          select from ${this.#schema}.pollux_outbox as outbox
          where outbox.service = ledger.service and outbox.topic = ledger.topic
            and outbox.partition = ledger.partition and outbox.unit > ledger.acknowledged
            and outbox.stored_at < now() - $2::interval
        )
        order by ledger.topic, ledger.partition`,
        [service, interval(age)],
      ),
    )
    return rows.map(({ topic, partition, topic_id }) => ({
      topic: String(topic),
      partition: readInteger(partition),
      topicId: String(topic_id),
    }))
  }

  async forget(service: string, window: number): Promise<boolean> {
    const [row] = await this.#use((connection) =>
      connection.query(`select ${this.#schema}.pollux_forget_1($1, $2, $3, $4) as block`, [
        service,
        interval(window),
        this.#forgotten.get(service) ?? '0',
        forgottenBlocks,
      ]),
    )
    const next = row?.['block'] ?? null
    if (next === null) this.#forgotten.delete(service)
    else this.#forgotten.set(service, String(next))
    return next !== null
  }

  migrate({
    dryRun = false,
  }: {
    readonly dryRun?: boolean
  } = {}): Promise<readonly MigrationStep[]> {
    return this.#useUnopened((connection) =>
      dryRun ? pendingSteps(connection, this.#target) : migrate(connection, this.#target),
    )
  }

  verify(): Promise<readonly string[]> {
    return this.#useUnopened((connection) => verify(connection, this.#target))
  }

  read<T>(work: (db: Reading) => Promise<T>): Promise<T> {
    const reading = (sql: Sql): Reading => ({
      query: async <Row extends object>(text: string, params?: readonly unknown[]) =>
        (await sql.query(text, params)) as readonly Row[],
    })
    return this.#useUnopened((connection) =>
      inTransaction(connection, (sql) => work(reading(sql)), 'repeatable read read only'),
    )
  }

  close(): Promise<void> {
    this.#closing ??= this.#stop()
    return this.#closing
  }

  async #stop(): Promise<void> {
    // An `open` that failed has cleaned up after itself, and its caller has the error.
    const connection = await this.#opening?.catch(() => undefined)
    await connection?.close()
  }

  async #use<Result>(work: (connection: SqlConnection) => Promise<Result>): Promise<Result> {
    const connection = this.#usable()
    try {
      return await work(connection)
    } catch (error) {
      throw storeError(this.name, error)
    }
  }

  /** The same, with a connection for this alone when the store is not open. */
  async #useUnopened<Result>(
    work: (connection: SqlConnection) => Promise<Result>,
  ): Promise<Result> {
    if (this.#opening !== undefined) {
      await this.open()
      return this.#use(work)
    }
    let connection: SqlConnection | undefined
    try {
      connection = await this.#options.connect()
      return await work(connection)
    } catch (error) {
      throw storeError(this.name, error)
    } finally {
      await connection?.close()
    }
  }

  #usable(): SqlConnection {
    if (this.#closing !== undefined) throw this.#unusable('closed')
    if (this.#connection === undefined) throw this.#unusable('not open')
    return this.#connection
  }

  #unusable(what: string): PolluxError {
    return new PolluxError('POLLUX_STORE_FAILED', `The store ${this.name} is ${what}.`)
  }
}

function interval(ms: number): string {
  return `${ms} milliseconds`
}
