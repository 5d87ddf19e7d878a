import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:net'
import { after, before, test } from 'node:test'
import { eventually } from '../../src/testing/eventually.ts'
import { childrenOf } from './children-of.ts'
import { type CliProcess, copyingModule, lines, Workplace } from './cli-process.ts'

const brokers = process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092'
const onKafka = ['--kafka', brokers]

let place: Workplace
let count = 0
before(() => {
  place = new Workplace()
})
after(() => place[Symbol.dispose]())

interface Names {
  readonly from: string
  readonly to: string
  readonly name: string
}

function uniqueNames(): Names {
  count += 1
  const base = `cli-${process.pid}-${Date.now()}-${count}`
  return { from: `${base}-in`, to: `${base}-out`, name: `${base}-copying` }
}

/** A topic with `amount` records, and a module that copies them. */
async function prepared(amount: number, handler?: string): Promise<Names> {
  const names = uniqueNames()
  place.write('services.ts', copyingModule(handler, names))
  await place.output(
    ['produce', names.from, '--file', '-', '--key', 'n', '--partitions', '4', ...onKafka],
    lines(amount),
  )
  return names
}

function start(args: readonly string[] = []): CliProcess {
  return place.start(['run', 'services.ts', '--create-topics', ...args, ...onKafka])
}

async function copied({ to }: Names, amount: number): Promise<void> {
  await eventually(
    `${amount} records are copied`,
    async () => (await numbersIn(to).catch(() => [])).length >= amount,
    { deadline: 60_000 },
  )
}

async function numbersIn(topic: string): Promise<number[]> {
  const found = await place.records(topic, ...onKafka)
  return found.map(({ value }) => (value as { n: number }).n).toSorted((one, other) => one - other)
}

interface Report {
  readonly state: string
  readonly lag: number
  readonly withoutOffset: number
  readonly members: readonly unknown[]
}

async function report({ name }: Names): Promise<Report> {
  return JSON.parse(await place.output(['group', name, '--json', ...onKafka])) as Report
}

test('Records written to Kafka are read back byte for byte, and the topic is listed', async () => {
  const { from } = uniqueNames()
  const line = '{"id":9007199254740993,"total":1.10}'
  await place.output(
    ['produce', from, '--file', '-', '--partitions', '2', '--key', 'id', ...onKafka],
    `${line}\n`,
  )
  assert.equal(await place.output(['consume', from, '--format', 'raw', ...onKafka]), `${line}\n`)
  const [record] = await place.records(from, '--from', '-1h', ...onKafka)
  assert.equal(record?.['key'], '9007199254740993')
  const topics = await place.output(['topics', '--json', ...onKafka])
  assert.ok(topics.includes(`${JSON.stringify({ name: from, partitions: 2, messages: 1 })}\n`))
})

test('A topic that Kafka does not have is not made unless asked for', async () => {
  const { from } = uniqueNames()
  const { code, stderr } = await place.pollux(['produce', from, '--file', '-', ...onKafka], '1\n')
  assert.equal(code, 1)
  assert.match(
    stderr,
    /There is no topic[\s\S]*--create-topics makes it[\s\S]*POLLUX_TOPIC_UNKNOWN/,
  )
})

test('A service on Kafka drains at SIGTERM with everything committed', async () => {
  const names = await prepared(200)
  const running = start()
  await copied(names, 200)
  running.kill('SIGTERM')
  const { code, stderr } = await running.ended()
  assert.equal(code, 0, stderr)
  assert.deepEqual(
    await numbersIn(names.to),
    Array.from({ length: 200 }, (_, index) => index),
  )
  const { state, lag, withoutOffset } = await report(names)
  assert.deepEqual([state, lag, withoutOffset], ['Empty', 0, 0])
})

test('Two workers share a group on Kafka, and after one is killed nothing is lost', async () => {
  const names = await prepared(100)
  const running = start(['--workers', '2', '--kafka-session-timeout', '6s'])
  await eventually(
    'both are members',
    async () => (await report(names).catch(() => undefined))?.members.length === 2,
  )
  await copied(names, 100)
  const [victim] = childrenOf(running.child.pid ?? 0)
  assert.ok(victim !== undefined)
  process.kill(victim, 'SIGKILL')
  await running.says(/a worker crashed; it is started again/)
  await place.output(['produce', names.from, '--file', '-', '--key', 'n', ...onKafka], lines(300))
  await eventually(
    'every number is copied',
    async () => new Set(await numbersIn(names.to)).size === 300,
    { deadline: 60_000 },
  )
  running.kill('SIGTERM')
  const { code, stderr } = await running.ended()
  assert.equal(code, 0, stderr)
})

test('An unreachable broker is code 5 within the connection’s time limit', async () => {
  const { code, stderr } = await place.pollux([
    'topics',
    '--kafka',
    '127.0.0.1:1',
    '--kafka-connect-timeout',
    '2s',
  ])
  assert.equal(code, 5)
  assert.match(stderr, /code: POLLUX_BROKER_UNREACHABLE/)
})

test('case 58: a signal while the broker does not answer ends the start within a few seconds', async () => {
  const silentServer = await listen()
  try {
    place.write('services.ts', copyingModule())
    const { port } = silentServer.address() as { port: number }
    const running = place.start(['run', 'services.ts', '--kafka', `127.0.0.1:${port}`])
    await running.says(/"message":"starting"/)
    running.kill('SIGTERM')
    const begin = performance.now()
    const { code, stderr } = await running.ended()
    assert.equal(code, 0, stderr)
    assert.ok(performance.now() - begin < 10_000, `${performance.now() - begin} ms`)
  } finally {
    silentServer.close()
  }
})

/** Takes connections and says nothing. */
function listen(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.on('error', () => {}))
    server.listen(0, '127.0.0.1', () => resolve(server))
  })
}

test('case 72: the password is in no output, not even at debug level when the login fails', async () => {
  const env = {
    POLLUX_KAFKA_PASSWORD: 'never-to-be-seen',
    POLLUX_DEBUG: '1',
    POLLUX_LOG_LEVEL: 'debug',
  }
  const args = [
    'topics',
    ...onKafka,
    '--kafka-sasl',
    'plain',
    '--kafka-username',
    'me',
    '--kafka-connect-timeout',
    '2s',
  ]
  const { code, stdout, stderr } = await place.pollux(args, '', { env })
  assert.notEqual(code, 0)
  assert.doesNotMatch(stderr + String(stdout), /never-to-be-seen/)
})
