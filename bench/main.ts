/**
 * Compares Pollux with a hand-written loop over the same client, and with kafkajs, on the broker at KAFKA_BROKERS.
 * Contestants take turns, each in a process of its own, so that a machine that slows down does so for all.
 *
 *   npm run bench -- [consume|relay] [--rounds 5]        N=200000 messages
 */
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'
import type { Figures } from './meter.ts'
import { messages, prepare, type Workload, workloads } from './workload.ts'

const contestants = ['hand-written', 'pollux', 'kafkajs'] as const
type Contestant = (typeof contestants)[number]

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' } },
})
const rounds = Number(values.rounds)
const chosen = workloads.filter(
  (workload) => positionals.length === 0 || positionals.includes(workload),
)

await prepare()
for (const workload of chosen) {
  const results = new Map<Contestant, Figures[]>(contestants.map((contestant) => [contestant, []]))
  for (let round = 0; round <= rounds; round += 1) {
    for (const contestant of contestants) {
      const figures = await measure(contestant, workload)
      // The first round warms the broker's page cache up.
      if (round > 0) results.get(contestant)?.push(figures)
    }
  }
  show(workload, results)
}

function measure(contestant: Contestant, workload: Workload): Promise<Figures> {
  const script = new URL(`contestants/${contestant}.ts`, import.meta.url).pathname
  const child = spawn(process.execPath, [script, workload], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 120_000,
    // kafkajs sets negative timers, and Node says so each time.
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(output) as Figures)
      else reject(new Error(`${contestant} ${workload} ended with ${code}: ${output}`))
    })
  })
}

function show(workload: Workload, results: ReadonlyMap<Contestant, readonly Figures[]>): void {
  const baseline = results.get('hand-written') ?? []
  console.log(`\n${workload}: ${messages} messages of 200 bytes, median of ${rounds} rounds`)
  console.log('                 µs CPU/message        ×   messages/s        ×')
  for (const [contestant, figures] of results) {
    const cpu = figures.map(({ cpuMicroseconds }) => cpuMicroseconds)
    const rate = figures.map((run) => run.messages / run.seconds)
    const cpuRatio = median(
      cpu.map((value, round) => value / (baseline[round]?.cpuMicroseconds ?? value)),
    )
    const rateRatio = median(rate.map((value, round) => value / rateOf(baseline[round])))
    console.log(
      `${contestant.padEnd(14)}${median(cpu).toFixed(1).padStart(17)}${cpuRatio.toFixed(2).padStart(9)}` +
        `${median(rate).toFixed(0).padStart(13)}${rateRatio.toFixed(2).padStart(9)}`,
    )
  }
}

function rateOf(run: Figures | undefined): number {
  return run === undefined ? Number.NaN : run.messages / run.seconds
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
