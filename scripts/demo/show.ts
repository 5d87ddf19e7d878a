import { formatNumber } from '../../src/cli/text-table.ts'
import type { Place } from './place.ts'
import type { Outcome, Scene } from './scene.ts'

/** A scene with what has come of it. */
export function showScene(
  { title }: Scene,
  { sent, came, table, proof, problems }: Outcome,
): string {
  const [mark, end] = problems.length === 0 ? ['✓', proof] : ['✗', `${sayWrong(problems)}.`]
  const lines = table?.trimEnd().split('\n') ?? []
  return [
    title,
    `  sent  ${sent}`,
    `  came  ${came}`,
    ...lines.map((line) => `        ${line}`),
    `  ${mark}     ${end}`,
    '',
  ].join('\n')
}

/** In how many places something is wrong. */
export function sayWrong({ length }: readonly string[]): string {
  return `Wrong in ${length} ${length === 1 ? 'place' : 'places'}`
}

/** What this run has done, and what was done before. */
export function showWork(before: number, after: number, seconds: number): string {
  const now = after - before
  if (now > 0) {
    return `${formatNumber(now)} prices handled in ${seconds.toFixed(1)} s; ${formatNumber(before)} were handled before.\n`
  }
  return `0 new prices; all ${formatNumber(before)} were handled by an earlier run.\n`
}

/** How to go on from here. */
export function showCommands(
  { flags, stopCommand }: Place,
  demo: (...more: readonly string[]) => string,
): string {
  const pollux = 'npx node src/cli/main.ts'
  const lines = [
    [`${pollux} topics ${flags}`, 'what the topics hold'],
    [`${pollux} consume shop.ready-for-print ${flags}`, 'what the gate has told'],
    [
      `${pollux} consume almanac.alerts ${flags} --format table`,
      'the moves of ten percent and more',
    ],
    [`${pollux} group sell-books ${flags}`, 'how far a service is'],
    [`${pollux} explain examples/bookshop/services.ts`, 'what is promised for each service'],
    [demo(), 'does nothing twice'],
    [demo('--check'), 'fails when something is wrong, and says what'],
    [demo('--reset'), 'starts over'],
    ...(stopCommand === undefined ? [] : [[stopCommand, 'stops the broker']]),
  ]
  const width = Math.max(...lines.map(([command = '']) => command.length))
  const text = lines.map(([command = '', what = '']) => `  ${command.padEnd(width)}  # ${what}\n`)
  return `Look further:\n${text.join('')}  The code is in examples/bookshop, and docs/patterns says more of each pattern.\n`
}
