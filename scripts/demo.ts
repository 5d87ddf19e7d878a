import { join } from 'node:path'
import { bigMoves, priceMoves } from '../examples/bookshop/almanac.ts'
import { sellBooks } from '../examples/bookshop/orders.ts'
import { readiness } from '../examples/bookshop/readiness.ts'
import { feelMoods, sortByLanguage } from '../examples/bookshop/reviews.ts'
import { feedShop } from '../examples/bookshop/shop-prices.ts'
import { errorBlock } from '../src/cli/error-block.ts'
import { createLogger } from '../src/cli/logger.ts'
import { watchSignalPair } from '../src/cli/stop-signals.ts'
import { formatNumber } from '../src/cli/text-table.ts'
import { postgresTable } from '../src/postgres/index.ts'
import { areSettled } from '../src/testing/logs.ts'
import { type PriceRow, readPriceFiles, symbolsOf } from './demo/almanac/price-files.ts'
import { countPrices, readSummaries } from './demo/almanac/results.ts'
import { handleEvents } from './demo/handle-events.ts'
import { ModelProcess } from './demo/model-process.ts'
import { openEmbeddedPlace, type Place } from './demo/place.ts'
import { produceEvents } from './demo/produce-events.ts'
import { readArguments } from './demo/read-arguments.ts'
import type { Scene } from './demo/scene.ts'
import { almanacScene } from './demo/scenes/almanac.ts'
import { gateScene } from './demo/scenes/gate.ts'
import { ordersScene } from './demo/scenes/orders.ts'
import { reviewsScene } from './demo/scenes/reviews.ts'
import { sidecarScene } from './demo/scenes/sidecar.ts'
import { sayWrong, showCommands, showScene, showWork } from './demo/show.ts'
import { Failure } from './kafka/failure.ts'

const help = `npm run demo [-- <options>]

The services of examples/bookshop at work, and a proof for each. Run it again: it goes on where it was.

  --kafka            on Kafka instead of the embedded broker: KAFKA_BROKERS, else one that is started here
  --port <port>      where the Kafka that is started here listens; default 9092
  --folder <folder>  where the data is kept; default .pollux/demo, with --kafka .pollux/demo-kafka
  --reset            starts over
  --check            fails when something differs from what follows from the events; exit code 0 or 1

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
  const model = new ModelProcess()
  const place = await openPlace()
  try {
    return await runAt(place, rows, model)
  } finally {
    model.close()
    await place.shop.close()
    await place.store.close()
    await place.broker.close()
  }
}

async function openPlace(): Promise<Place> {
  const options = { folder, logger, reset: values.reset, resetCommand: commandLine('--reset') }
  if (!values.kafka) return openEmbeddedPlace(options)
  // Only now, as it loads the native client.
  const { openKafkaPlace } = await import('./demo/kafka-place.ts')
  return openKafkaPlace({ ...options, port: values.port })
}

async function runAt(
  place: Place,
  rows: readonly PriceRow[],
  model: ModelProcess,
): Promise<number> {
  const { broker, store, shop } = place
  console.log(`The bookshop runs on ${broker.name} and ${store.name}.`)
  const symbols = symbolsOf(rows)
  const before = countPrices(await readSummaries(store, symbols))
  const scenes = [
    gateScene,
    sidecarScene,
    ordersScene,
    reviewsScene(model.counts),
    almanacScene(rows),
  ]
  const events = scenes.flatMap((scene) => scene.events)
  const table = postgresTable({ table: 'legacy.item_master', pool: shop })
  const start = performance.now()
  // Beside the writing, as it takes a second; and only if there is something to ask it.
  const starting = (await areSettled(broker, [sortByLanguage, feelMoods('')])) || model.start()
  await produceEvents(broker, events, stop.signal)
  await starting
  if (!stop.signal.aborted)
    await handleEvents({
      broker,
      store,
      services: [
        readiness,
        feedShop(table),
        sellBooks,
        sortByLanguage,
        feelMoods(model.url),
        priceMoves,
        bigMoves,
      ],
      sources: new Set(events.map(({ topic }) => topic.name)),
      logger,
      stop: stop.signal,
    })
  const seconds = (performance.now() - start) / 1_000
  const after = countPrices(await readSummaries(store, symbols))
  if (stop.signal.aborted) {
    const counts = `${formatNumber(after)} of ${formatNumber(rows.length)}`
    console.log(`Stopped: ${counts} prices are handled. Run it again to go on.`)
    return 130
  }
  const problems = await lookAt(scenes, place)
  console.log(showWork(before, after, seconds))
  console.log(showCommands(place, commandLine))
  return values.check ? check(problems) : 0
}

/** Shows what has come of the scenes, and gives what is wrong with it. */
async function lookAt(scenes: readonly Scene[], place: Place): Promise<readonly string[]> {
  const problems: string[] = []
  console.log()
  for (const scene of scenes) {
    const outcome = await scene.look(place)
    console.log(showScene(scene, outcome))
    problems.push(...outcome.problems)
  }
  return problems
}

function check(problems: readonly string[]): number {
  if (problems.length === 0) {
    console.log('Checked: all of it is exactly what follows from the events.')
    return 0
  }
  console.log(`${sayWrong(problems)}:\n${problems.map((line) => `  ${line}\n`).join('')}`)
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
