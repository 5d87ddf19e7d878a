import type { GateState } from '../../patterns/gate/gates.ts'
import { escapeControls, textTable } from '../text-table.ts'
import type { Found } from './execute-gate.ts'

/** The gates that wait, for people. */
export function waitingTable(found: readonly Found[], now: number): string {
  const rows = found.flatMap(({ gate, states }) =>
    states.map(({ key, missing, since, expiresAt }) => [
      gate,
      key,
      missing.join(', '),
      since === null ? 'unknown' : age(now - since),
      expiresAt === null ? 'never' : deadline(expiresAt, now),
    ]),
  )
  const table = textTable(
    [
      { heading: 'GATE' },
      { heading: 'KEY' },
      { heading: 'WAITING FOR' },
      { heading: 'SINCE' },
      { heading: 'EXPIRES' },
    ],
    rows,
  )
  return found.some(({ isCut }) => isCut) ? `${table}\nMore wait; --limit shows them.\n` : table
}

/** A row with its facts, for people. */
export function gateText({ gate, table }: Found, state: GateState): string {
  const lines = [
    ['gate', gate],
    ['table', table],
    ['key', state.key],
    ['stage', state.stage],
    ['opened', at(state.openedAt)],
    ['expires', at(state.expiresAt)],
    ['expired', at(state.expiredAt)],
  ].filter(([label, value]) => value !== 'no' || label === state.stage)
  const head = lines.map(([label = '', value = '']) => `${label.padEnd(9)}${escapeControls(value)}`)
  const facts = textTable(
    [{ heading: 'FACT' }, { heading: 'CAME' }, { heading: 'PAYLOAD' }],
    state.facts.map(({ name, cameAt, payload }) => [
      name,
      cameAt === null ? 'waiting' : at(cameAt),
      JSON.stringify(payload) ?? '',
    ]),
  )
  return `${head.join('\n')}\n\n${facts}`
}

/** What a key waits for and since when, or how it ended. */
export function gateSentence({ gate }: Found, state: GateState, now: number): string {
  return `${escapeControls(`'${state.key}' of ${gate}: ${parts(state, now).join('; ')}`)}\n`
}

function parts(state: GateState, now: number): string[] {
  const { stage, facts, missing, since, openedAt, expiredAt, expiresAt } = state
  if (stage === 'opened')
    return [`opened ${ago(openedAt, now)}`, `the first fact came ${ago(since, now)}`]
  const there = facts.filter(({ cameAt }) => cameAt !== null).map(({ name }) => name)
  const has = there.length === 0 ? 'has none' : `has ${there.join(', ')}`
  if (stage === 'expired')
    return [`expired ${ago(expiredAt, now)}, without ${missing.join(', ')}`, has]
  return [
    // Somebody may have set them by hand.
    missing.length === 0
      ? 'has all its facts, and opens with the next one that comes'
      : `waiting for: ${missing.join(', ')}${since === null ? '' : ` since ${age(now - since)}`}`,
    has,
    expiresAt === null ? 'never expires' : `expires ${deadline(expiresAt, now)} (${at(expiresAt)})`,
  ]
}

/** As JSON, a line each; times as texts, and what is there to be computed from them left to the reader. */
export function gateJson({ gate, table, states }: Found, now: number): string {
  const time = (ms: number | null): string | null => (ms === null ? null : at(ms))
  return states
    .map(({ key, stage, facts, missing, since, openedAt, expiresAt, expiredAt }) => {
      const waits = stage === 'waiting' && since !== null ? now - since : null
      const ends = {
        openedAt: time(openedAt),
        expiresAt: time(expiresAt),
        expiredAt: time(expiredAt),
      }
      const came = facts.map(({ name, cameAt, payload = null }) => [
        name,
        { cameAt: time(cameAt), payload },
      ])
      const one = { gate, table, key, stage, missing, since: time(since), waitedMs: waits, ...ends }
      return `${JSON.stringify({ ...one, facts: Object.fromEntries(came) })}\n`
    })
    .join('')
}

function at(ms: number | null): string {
  return ms === null ? 'no' : new Date(ms).toISOString()
}

function ago(ms: number | null, now: number): string {
  return ms === null ? 'at an unknown time' : `${age(now - ms)} ago (${at(ms)})`
}

function deadline(expiresAt: number, now: number): string {
  return expiresAt > now ? `in ${age(expiresAt - now)}` : 'now, when its service looks'
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A length of time in its largest unit, rounded down: `3 h`. */
function age(ms: number): string {
  const [unit, length] = units.find(([, one]) => ms >= one) ?? ['s', 1_000]
  return `${Math.max(0, Math.floor(ms / length))} ${unit}`
}
