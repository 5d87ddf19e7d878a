import { join } from 'node:path'
import { priceMoves } from '../examples/stocks/services.ts'
import { errorBlock } from '../src/cli/error-block.ts'
import { createLogger } from '../src/cli/logger.ts'
import { watchSignalPair } from '../src/cli/stop-signals.ts'
import { formatNumber } from '../src/cli/text-table.ts'
import { compareResults } from './demo/compare-results.ts'
import { expectedResults } from './demo/expected-results.ts'
import { handlePrices } from './demo/handle-prices.ts'
import { openEmbeddedPlace, type Place } from './demo/place.ts'
import { type PriceRow, readPriceFiles, symbolsOf } from './demo/price-files.ts'
import { producePrices } from './demo/produce-prices.ts'
import { readArguments } from './demo/read-arguments.ts'
import { countPrices, type Results, readResults, readSummaries } from './demo/results.ts'
import { showCommands, showResults, showWork } from './demo/show-results.ts'
import { Failure } from './kafka/failure.ts'

const help = `npm run demo [-- <options>]

Twenty years of prices flow through the services of examples/stocks. Run it again: it goes on where it was.

  --kafka            on Kafka instead of the embedded broker: KAFKA_BROKERS, else one that is started here
  --port <port>      where the Kafka that is started here listens; default 9092
  --folder <folder>  where the data is kept; default .pollux/demo, with --kafka .pollux/demo-kafka
  --reset            starts over
  --check            compares the result with a computation straight from the files; exit code 0 or 1

Exit codes: 0 done, 1 failed or found wrong by --check, 2 wrong options, 130 stopped by Ctrl-C.`

const read = readArguments(process.argv.slice(2))
if (typeof read === 'string') {
  process.stderr.write(`error: ${read} See npm run demo -- --help.\n`)
  process.exit(2)
}
const values = read
const folder = values.folder ?? join('.pollux', values.kafka ? 'demo-kafka' : 'demo')
const logger = createLogger({ level: 'warn', pretty: process.stderr.isTTY })
const stop = new AbortController()
// Whatever a killed process leaves, the next run goes on from: a second Ctrl-C need not wait for anything.
watchSignalPair({ first: () => stop.abort(), second: () => process.exit(130) })
// Pending promises and the embedded broker's timers do not keep Node running.
const alive = setInterval(() => {}, 2 ** 30)
try {
  if (values.help) console.log(help)
  else process.exitCode = await main()
} catch (error) {
  process.stderr.write(error instanceof Failure ? `${error.message}\n` : errorBlock(error))
  process.exitCode = 1
} finally {
  clearInterval(alive)
}

async function main(): Promise<number> {
  const rows = readPriceFiles()
  const place = await openPlace()
  try {
    return await runAt(place, rows)
  } finally {
    await place.store.close()
    await place.broker.close()
  }
}

async function openPlace(): Promise<Place> {
  const options = { folder, logger, reset: values.reset }
  if (!values.kafka) return openEmbeddedPlace(options)
  // Only now, as it loads the native client.
  const { openKafkaPlace } = await import('./demo/kafka-place.ts')
  return openKafkaPlace({ ...options, port: values.port })
}

async function runAt(place: Place, rows: readonly PriceRow[]): Promise<number> {
  const { broker, store } = place
  const symbols = symbolsOf(rows)
  const before = countPrices(await readSummaries(store, symbols))
  await refuseLostState(place, before)
  const start = performance.now()
  await producePrices(broker, rows, stop.signal)
  if (!stop.signal.aborted) await handlePrices({ broker, store, logger, stop: stop.signal })
  const seconds = (performance.now() - start) / 1_000
  if (stop.signal.aborted) {
    const after = countPrices(await readSummaries(store, symbols))
    const counts = `${formatNumber(after)} of ${formatNumber(rows.length)}`
    console.log(`Stopped: ${counts} prices are handled. Run it again to go on.`)
    return 130
  }
  const results = await readResults(broker, store, symbols)
  console.log(`\n${showResults(results)}`)
  console.log(showWork(before, countPrices(results.summaries), seconds))
  if (values.check) return check(results, rows)
  console.log(showCommands(place, commandLine))
  return 0
}

/** With the positions but without the state, the services would go on from prices that nobody remembers. */
async function refuseLostState({ broker }: Place, before: number): Promise<void> {
  if (before > 0) return
  const { offsets } = await broker.admin.group(priceMoves.name)
  if (offsets.every(({ offset }) => offset === 0)) return
  throw new Failure(
    `The broker says that prices were handled, and the store in ${folder} knows nothing of it. ` +
      `Start over: ${commandLine('--reset')}`,
  )
}

function check(results: Results, rows: readonly PriceRow[]): number {
  const problems = compareResults(results, expectedResults(rows))
  if (problems.length === 0) {
    console.log('Checked: state and outputs are exactly what follows from the files.')
    return 0
  }
  console.log(
    `Wrong in ${problems.length} places:\n${problems.map((line) => `  ${line}\n`).join('')}`,
  )
  return 1
}

/** How to call this again. */
function commandLine(...more: readonly string[]): string {
  const options = [
    ...(values.kafka ? ['--kafka'] : []),
    ...(values.port === 9092 ? [] : ['--port', String(values.port)]),
    ...(values.folder === undefined ? [] : ['--folder', values.folder]),
    ...more,
  ]
  return options.length === 0 ? 'npm run demo' : `npm run demo -- ${options.join(' ')}`
}
