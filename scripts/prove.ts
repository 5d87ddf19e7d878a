import { parseArgs } from 'node:util'
import { removeFromKafka } from '../bench/kafka-topics.ts'
import { watchSignalPair } from '../src/cli/stop-signals.ts'
import { errorText } from '../src/errors.ts'
import { booksOf } from '../test/guarantees/gate/books.ts'
import { type GateProven, proveGateOnce } from '../test/guarantees/gate/prove-gate-once.ts'
import { ask, freshName } from '../test/postgres/server.ts'
import { fail } from './command.ts'

const help = `npm run prove -- gate [<options>]

Tests that npm test has in small, at any size. On Kafka (KAFKA_BROKERS, default 127.0.0.1:9092) and PostgreSQL (PGHOST and so on).

gate: three facts about each book, from three topics, in any order and a quarter of them twice, go to the members of one
gate, which are killed again and again, and started again. Each book has to open exactly once: by the outputs, by
their ids, and by the table.

  --books <count>      default 100000
  --members <count>    processes of the group; default 8
  --deaths <count>     how many are killed, at each point where one can die equally often, and at any moment; default 65. More
                       are killed after that, while all work through the rest
  --seed <number>      repeats an order of facts and deaths; default: another one each time
  --minutes <count>    for each part of the rest; default 10

Exit codes: 0 it holds, 1 it does not, 2 wrong options, 130 stopped by Ctrl-C.`

const whole = (option: string, text: string): number => {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new Error(`--${option}: expected a whole number from 1, found '${text}'`)
  return Number(text)
}

let read: ReturnType<typeof readArguments>
try {
  read = readArguments()
} catch (error) {
  console.error(`error: ${errorText(error)}. See npm run prove -- --help.`)
  process.exit(2)
}
if (read === undefined) console.log(help)
else await main(read)

function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      books: { type: 'string', default: '100000' },
      members: { type: 'string', default: '8' },
      deaths: { type: 'string', default: '65' },
      seed: { type: 'string', default: `${1 + (Date.now() % 1_000_000)}` },
      minutes: { type: 'string', default: '10' },
      help: { type: 'boolean', default: false },
    },
  })
  const { help: isHelp, minutes, ...counts } = values
  if (isHelp || positionals.length === 0) return undefined
  if (positionals.join(' ') !== 'gate')
    throw new Error(`expected the proof 'gate', found '${positionals.join(' ')}'`)
  return {
    books: whole('books', counts.books),
    members: whole('members', counts.members),
    deaths: whole('deaths', counts.deaths),
    seed: whole('seed', counts.seed),
    deadline: 60_000 * whole('minutes', minutes),
  }
}

async function main(options: NonNullable<ReturnType<typeof readArguments>>): Promise<void> {
  const name = freshName()
  const { service, inputs, published } = booksOf(name)
  const clear = async (): Promise<void> => {
    await ask(`drop schema if exists ${name} cascade`)
    await removeFromKafka(
      [service.name],
      [...inputs, published].map((topic) => topic.name),
    )
  }
  // Members are killed by the exit.
  const stop = new AbortController()
  watchSignalPair({ first: () => stop.abort(), second: () => process.exit(130) })
  const { books, members, seed } = options
  const start = performance.now()
  console.log(`${books} books, ${members} members; --seed ${seed}`)
  const tell = (progress: string): void =>
    console.log(`${((performance.now() - start) / 1_000).toFixed(0)} s: ${progress}`)
  try {
    show(await proveGateOnce({ ...options, name, tell, signal: stop.signal }), books, start)
  } catch (error) {
    if (stop.signal.aborted) return void (process.exitCode = 130)
    console.error(error)
    fail(`It does not hold, or could not be shown. Repeat it with --seed ${seed}.`)
  } finally {
    await clear()
  }
}

function show(
  { facts, deaths, killedAtWork, copies }: GateProven,
  books: number,
  start: number,
): void {
  const seconds = ((performance.now() - start) / 1_000).toFixed(0)
  const killed = deaths.values().reduce((sum, count) => sum + count, killedAtWork)
  for (const [point, count] of deaths) console.log(`killed at ${point}: ${count} times`)
  console.log(`killed while all worked through the rest: ${killedAtWork}`)
  console.log(
    `Each of ${books} books opened exactly once, by ${facts} facts and ${killed} deaths, in ${seconds} s. ` +
      `${copies} outputs are there a second time, under the same id.`,
  )
}
