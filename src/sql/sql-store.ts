import { type ErrorCode, PolluxError } from '../errors.ts'
import type {
  CommitResult,
  LedgerPartition,
  LedgerRow,
  StateRow,
  Store,
  Unit,
} from '../ports/store.ts'
import { migrate } from './migrate.ts'
import { raised } from './migrations.ts'
import * as rows from './rows.ts'
import type { SqlConnection, SqlRow } from './sql.ts'
import { sqlState, storeError } from './sql-errors.ts'

export interface SqlStoreOptions {
  readonly name: string
  /** An identifier that needs no quoting beyond double quotes. */
  readonly schema: string
  /** What to reject with when a newer Pollux made the tables. */
  readonly newerCode: ErrorCode
  connect(): Promise<SqlConnection>
}

/** The store on PostgreSQL's SQL, whatever runs it. */
export class SqlStore implements Store {
  readonly name: string
  readonly #options: SqlStoreOptions
  readonly #schema: string
  #opening: Promise<SqlConnection> | undefined
  #connection: SqlConnection | undefined
  #closing: Promise<void> | undefined

  constructor(options: SqlStoreOptions) {
    this.name = options.name
    this.#options = options
    this.#schema = `"${options.schema}"`
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
        const { newerCode } = this.#options
        await migrate(connection, { schema: this.#schema, storeName: this.name, newerCode })
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

  async acquire(
    service: string,
    partitions: readonly LedgerPartition[],
  ): Promise<readonly LedgerRow[]> {
    const params = [
      service,
      rows.textArray(partitions.map(({ topic }) => topic)),
      rows.integerArray(partitions.map(({ partition }) => partition)),
    ]
    const topicIds = rows.textArray(partitions.map(({ topicId }) => topicId))
    const bumped = await this.#query(this.#bumpSql(), [...params, topicIds])
    const epochs = new Map(bumped.map((row) => [place(row), rows.readInteger(row.epoch)]))
    // A statement of its own, begun after the bump was committed: it sees all that older owners did
    // commit. The epoch is the bump's, not this one's: if another owner bumped in between, we must
    // hold the older one.
    const found = await this.#query(this.#ledgerSql(), params)
    return found.map((row, index) => ledgerRow(row, partitions[index] as LedgerPartition, epochs))
  }

  async load(service: string, keys: readonly Buffer[]): Promise<readonly StateRow[]> {
    if (keys.length === 0) {
      this.#usable()
      return []
    }
    const found = await this.#query(this.#loadSql(), [service, rows.byteaArray(keys)])
    return found.map(({ value, version }) => ({
      value: rows.readBytes(value),
      version: version === null ? 0 : rows.readInteger(version),
    }))
  }

  async commit({ service, states, ledger }: Unit): Promise<CommitResult> {
    const connection = this.#usable()
    try {
      const [row] = await connection.query(
        `select ${this.#schema}.pollux_commit($1, $2, $3, $4, $5, $6, $7, $8, $9) as versions`,
        [
          service,
          rows.textArray(ledger.map(({ topic }) => topic)),
          rows.integerArray(ledger.map(({ partition }) => partition)),
          rows.integerArray(ledger.map(({ epoch }) => epoch)),
          rows.integerArray(ledger.map(({ next }) => next)),
          rows.rangesArray(ledger.map(({ settled }) => settled)),
          rows.byteaArray(states.map(({ key }) => key)),
          rows.byteaArray(states.map(({ value }) => value)),
          rows.integerArray(states.map(({ version }) => version)),
        ],
      )
      return { outcome: 'committed', versions: rows.readIntegers(row?.versions) }
    } catch (error) {
      if (sqlState(error) === raised.fenced) return { outcome: 'fenced' }
      if (sqlState(error) === raised.conflict) return { outcome: 'conflict' }
      throw storeError(this.name, error)
    }
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

  async #query(text: string, params: readonly string[]): Promise<readonly SqlRow[]> {
    const connection = this.#usable()
    try {
      return await connection.query(text, params)
    } catch (error) {
      throw storeError(this.name, error)
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

  #bumpSql(): string {
    return `insert into ${this.#schema}.pollux_ledger as row (service, topic, partition, topic_id, epoch)
      select distinct on (2, 3) $1::text, topic collate "C", partition, topic_id, 1
      from unnest($2::text[], $3::int4[], $4::text[]) as given (topic, partition, topic_id)
      order by 2, 3
      on conflict (service, topic, partition) do update set epoch = row.epoch + 1
      returning topic, partition, epoch`
  }

  #ledgerSql(): string {
    return `select given.topic, given.partition, row.topic_id, row.next, row.settled::text as settled
      from unnest($2::text[], $3::int4[]) with ordinality as given (topic, partition, place)
      join ${this.#schema}.pollux_ledger as row
        on row.service = $1 and row.topic = given.topic and row.partition = given.partition
      order by given.place`
  }

  #loadSql(): string {
    // Lateral with a limit probes the index key by key, whatever the statistics say.
    return `select row.value, row.version
      from unnest($2::bytea[]) with ordinality as given (key, place)
      left join lateral (
        select value, version from ${this.#schema}.pollux_state as row
        where row.service = $1 and row.key = given.key
        limit 1
      ) as row on true
      order by given.place`
  }
}

function place({ topic, partition }: SqlRow): string {
  return `${String(topic)}/${String(partition)}`
}

function ledgerRow(
  row: SqlRow,
  { topic, partition }: LedgerPartition,
  epochs: Map<string, number>,
): LedgerRow {
  return {
    topic,
    partition,
    topicId: String(row.topic_id),
    epoch: rows.readInteger(epochs.get(place(row))),
    next: row.next === null ? undefined : rows.readInteger(row.next),
    settled: rows.readRanges(row.settled),
  }
}
