import { fill, makeTopics, removeFromKafka } from '../kafka-topics.ts'
import type { Figures } from '../meter.ts'
import { median, medianRatio, printTable } from '../table.ts'
import { runContestant, takeTurns } from '../turns.ts'
import { record } from '../workload.ts'
import type { LoopTask, Workload } from './task.ts'

const contestants = ['hand-written', 'pollux', 'kafkajs'] as const
const distinctKeys = 1_000

/** Compares a service without a store with a hand-written loop over the same client, and with kafkajs. */
export async function compareLoops(
  workload: Workload,
  messages: number,
  rounds: number,
): Promise<void> {
  const name = `pollux-bench-${workload}-${process.pid}`
  const input = `${name}-in`
  const output = `${name}-out`
  const groups = contestants.map((contestant) => `${name}-${contestant}`)
  await makeTopics(input, output)
  try {
    await fill(messages, (index) => record(input, index, distinctKeys))
    const results = await takeTurns(contestants, rounds, async (contestant) => {
      const script = new URL(`${contestant}.ts`, import.meta.url)
      const group = `${name}-${contestant}`
      const task: LoopTask = { workload, group, input, output, messages }
      const figures = await runContestant<Figures>(script, task)
      await removeFromKafka([group], [])
      return figures
    })
    show(`${workload}: ${messages} messages of 200 bytes, median of ${rounds} rounds`, results)
  } finally {
    await removeFromKafka(groups, [input, output])
  }
}

function show(
  title: string,
  results: ReadonlyMap<(typeof contestants)[number], readonly Figures[]>,
): void {
  const baseline = results.get('hand-written') ?? []
  const rates = (figures: readonly Figures[]): number[] =>
    figures.map(({ messages, seconds }) => messages / seconds)
  const cpu = (figures: readonly Figures[]): number[] =>
    figures.map(({ cpuMicroseconds }) => cpuMicroseconds)
  printTable(
    title,
    [...results],
    [
      { heading: '', show: ([contestant]) => contestant },
      { heading: 'µs CPU/message', show: ([, figures]) => median(cpu(figures)).toFixed(1) },
      { heading: '×', show: ([, figures]) => medianRatio(cpu(figures), cpu(baseline)).toFixed(2) },
      { heading: 'messages/s', show: ([, figures]) => median(rates(figures)).toFixed(0) },
      {
        heading: '×',
        show: ([, figures]) => medianRatio(rates(figures), rates(baseline)).toFixed(2),
      },
    ],
  )
}
