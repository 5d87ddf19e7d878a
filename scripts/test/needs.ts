import { connect } from 'node:net'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { type CommandResult, runCommand } from '../command.ts'

/** What a part may need beside Node. */
export type Need = 'kafka' | 'postgres' | 'mysql' | 'redis' | 'build' | 'registry'

/** Why something is not there; undefined when it is. */
type Missing = string | undefined

const preparations: Readonly<Record<Need, () => Promise<Missing>>> = {
  kafka: prepareKafka,
  postgres: preparePostgres,
  mysql: prepareMysql,
  redis: prepareRedis,
  build: prepareBuild,
  registry: prepareRegistry,
}

const prepared = new Map<Need, Promise<Missing>>()
let isKafkaOurs = false

/** Makes ready what a part needs, once for all parts. Resolves to the reason when something cannot be had. */
export async function prepare(needs: readonly Need[]): Promise<Missing> {
  for (const need of needs) {
    const missing = prepared.get(need) ?? preparations[need]()
    prepared.set(need, missing)
    const reason = await missing
    if (reason !== undefined) return reason
  }
  return undefined
}

/** Stops what `prepare` started. What ran before goes on. */
export async function release(): Promise<void> {
  if (isKafkaOurs) await runCommand('node', ['scripts/kafka/stop.ts'])
}

async function prepareKafka(): Promise<Missing> {
  console.log('  preparing the native Kafka client (the first time may take minutes)')
  const client = await runCommand('node', ['scripts/kafka/client.ts'])
  if (client.code !== 0) return `no Kafka client: ${lastLine(client)}`
  const brokers = process.env['KAFKA_BROKERS']
  if (brokers !== undefined) return missingBroker(brokers)
  const status = await runCommand('node', ['scripts/kafka/status.ts'])
  if (status.code === 0) return undefined
  console.log('  starting Kafka (the first time downloads it)')
  const started = await runCommand('node', ['scripts/kafka/start.ts'])
  if (started.code !== 0) return `no Kafka: ${lastLine(started)}`
  isKafkaOurs = true
  return undefined
}

async function missingBroker(brokers: string): Promise<Missing> {
  const [host = '', port = '9092'] = (brokers.split(',')[0] ?? '').split(/:(?=\d+$)/)
  return (await answers(host, Number(port)))
    ? undefined
    : `nothing answers at KAFKA_BROKERS (${brokers})`
}

/** Whether something accepts connections there. */
async function answers(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host, port, timeout: 5_000 })
  socket.on('connect', () => resolve(true))
  socket.on('timeout', () => resolve(false))
  socket.on('error', () => resolve(false))
  const isThere = await promise
  socket.destroy()
  return isThere
}

/** Asks for the right to make roles and databases, too: the tests make some of their own. */
async function preparePostgres(): Promise<Missing> {
  const {
    PGHOST = '127.0.0.1',
    PGPORT = '5432',
    PGUSER = 'postgres',
    PGDATABASE = 'postgres',
  } = process.env
  const client = new pg.Client({
    host: PGHOST,
    port: Number(PGPORT),
    user: PGUSER,
    database: PGDATABASE,
    connectionTimeoutMillis: 5_000,
  })
  try {
    await client.connect()
    const { rows } = await client.query(
      'select rolsuper from pg_roles where rolname = current_user',
    )
    return rows[0]?.rolsuper === true ? undefined : `${PGUSER} is no superuser of PostgreSQL`
  } catch (error: unknown) {
    const reason = error instanceof Error ? error.message : String(error)
    return `no PostgreSQL at ${PGHOST}:${PGPORT} (set PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE): ${reason}`
  } finally {
    await client.end()
  }
}

/** Asks for the right to make databases: the tests make some of their own. */
async function prepareMysql(): Promise<Missing> {
  const { MYSQL_URL = 'mysql://root@127.0.0.1:3306' } = process.env
  const { hostname, port, username } = new URL(MYSQL_URL)
  try {
    const connection = await createConnection({ uri: MYSQL_URL, connectTimeout: 5_000 })
    const [rows] = await connection.query('show grants')
    await connection.end()
    const mayCreate = /ALL PRIVILEGES ON \*\.\*|CREATE.* ON \*\.\*/.test(JSON.stringify(rows))
    return mayCreate ? undefined : `${username} may not make databases in MySQL`
  } catch (error: unknown) {
    const reason = error instanceof Error ? error.message : String(error)
    return `no MySQL or MariaDB at ${hostname}:${port || 3306} (set MYSQL_URL): ${reason}`
  }
}

async function prepareRedis(): Promise<Missing> {
  const { REDIS_URL = 'redis://127.0.0.1:6379' } = process.env
  const { hostname, port } = new URL(REDIS_URL)
  const isThere = await answers(hostname, Number(port || 6379))
  return isThere ? undefined : `no Redis at ${hostname}:${port || 6379} (set REDIS_URL)`
}

async function prepareBuild(): Promise<Missing> {
  const built = await runCommand('node', ['scripts/build.ts'])
  return built.code === 0 ? undefined : `the build failed: ${lastLine(built)}`
}

async function prepareRegistry(): Promise<Missing> {
  const answer = await runCommand('npm', ['view', 'typescript', 'version'], { timeout: 60_000 })
  return answer.code === 0 ? undefined : `no package registry: ${lastLine(answer)}`
}

function lastLine({ code, output }: CommandResult): string {
  const lines = output.split('\n').map((line) => line.trim())
  // A script that crashed ends with its stack and Node's version, which say nothing here.
  const telling = lines.filter((line) => !/^(|at .*|[{}]|code: .*|Node\.js v.*)$/.test(line))
  return telling.at(-1) ?? `exit code ${code}`
}
