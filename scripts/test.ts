import { glob } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fail, root } from './command.ts'
import { prepare, release } from './test/needs.ts'
import { parts } from './test/parts.ts'
import { type PartResult, reportAll, reportFile } from './test/report.ts'
import { runFile } from './test/run-file.ts'
import { type Selected, selectFiles } from './test/select-files.ts'

const help = `npm test [-- <part or file> …]

Runs the tests, all or those named, and closes with a table of what ran and what was left out.

  npm test                                everything that this machine has the means for
  npm test -- unit kafka                  these parts
  npm test -- test/duration.test.ts       this file
  npm test -- --list                      the parts and their files
  REQUIRE=all npm test                    what is left out counts as failed
  KAFKA_BROKERS=host:port npm test        uses this Kafka instead of starting one

Parts: ${parts.map(({ name }) => name).join(', ')}.`

const { values, positionals } = parseArgs({
  options: { help: { type: 'boolean' }, list: { type: 'boolean' } },
  allowPositionals: true,
})

// Each file, and each process that a test starts, would strip and compile the same modules again: half of the time of most.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache')
if (values.help === true) console.log(help)
else await main()

async function main(): Promise<void> {
  const files = await Array.fromAsync(glob('**/*.test.ts', { cwd: join(root, 'test') }))
  const { selected, problems } = selectFiles(parts, files.toSorted(), positionals)
  if (problems.length > 0) return fail(problems.join('\n'))
  if (values.list === true) return list(selected)
  const results = new Map<string, PartResult>()
  const runAll = async (some: readonly Selected[]): Promise<void> => {
    for (const one of some) results.set(one.part.name, await runPart(one))
  }
  // Many files wait for most of their time: for brokers that restart, sessions that end. So those with Kafka run beside the
  // others, but one part at a time: they count on members that come and go quickly.
  const [onKafka, others] = [true, false].map((isOnKafka) =>
    selected.filter(({ part }) => part.needs.includes('kafka') === isOnKafka),
  )
  try {
    await Promise.all([runAll(onKafka ?? []), runAll(others ?? [])])
  } finally {
    await release()
  }
  const inOrder = selected.flatMap(({ part }) => results.get(part.name) ?? [])
  const { passed, failed } = reportAll(inOrder, process.env['REQUIRE'] === 'all')
  if (failed > 0 || passed === 0) process.exitCode = 1
}

async function runPart({ part, files }: Selected): Promise<PartResult> {
  console.log(`\n${part.name}`)
  const leftOut = await prepare(part.needs)
  if (leftOut !== undefined) {
    console.log(`  left out: ${leftOut}`)
    return { name: part.name, files: [], leftOut }
  }
  const waiting = [...files]
  const worker = async (): Promise<PartResult['files']> => {
    const done = []
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runFile(file, part.minutes ?? 5)
      reportFile(result)
      done.push(result)
    }
    return done
  }
  const workers = Array.from({ length: part.concurrency ?? 1 }, worker)
  return { name: part.name, files: (await Promise.all(workers)).flat(), leftOut: undefined }
}

function list(selected: readonly Selected[]): void {
  for (const { part, files } of selected) {
    console.log(part.name)
    for (const file of files) console.log(`  test/${file}`)
  }
}
