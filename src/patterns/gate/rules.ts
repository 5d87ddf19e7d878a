import { isDeepStrictEqual } from 'node:util'
import { NonRetryableError } from '../../handler-errors.ts'
import type { Outputs } from '../../service.ts'
import type { AnyTopic, OutputMessage } from '../../topic.ts'
import type { Facts, GateDefinition } from './definition.ts'
import { isComplete, note, type Row, reset, stageOf } from './row.ts'

type Definition = GateDefinition<Facts, readonly AnyTopic[]>

/** What a gate does with what comes. */
export interface Rules extends Required<Pick<Definition, 'open' | 'late'>> {
  readonly facts: Facts
  readonly expire: Definition['expire']
  /** In milliseconds; undefined for never. */
  readonly timeout: number | undefined
}

/** A fact as a message brings it. */
export interface Arrival {
  /** Which of the facts. */
  readonly index: number
  readonly kept: unknown
}

/** When it happens, and where it is counted. */
export interface Moment {
  readonly now: number
  readonly count: (name: string) => void
}

/**
 * A fact has come: changes the row and gives the outputs.
 * @throws POLLUX_NOT_RETRYABLE for a late one, where the gate wants that.
 */
export async function arrive(
  rules: Rules,
  row: Row,
  arrival: Arrival,
  moment: Moment,
): Promise<readonly OutputMessage[]> {
  const { index, kept } = arrival
  const { now, count } = moment
  const outputs: OutputMessage[] = []
  if (stageOf(row, now) === 'due') outputs.push(...(await expire(rules, row, moment)))
  if (stageOf(row, now) !== 'waiting') {
    if (rules.late !== 'reopen')
      return [...outputs, ...(await comeLate(rules, row, arrival, moment))]
    reset(row, deadline(rules, now))
    count('reopened')
  }
  if (row.came[index] !== null) count('repeated')
  else if (row.came.every((at) => at === null)) count('begun')
  note(row, index, kept, now)
  if (!isComplete(row)) return outputs
  row.openedAt = now
  outputs.push(...(await open(rules, row, moment)))
  return outputs
}

/** Opens a gate that all facts have come for. */
export async function open(
  rules: Rules,
  row: Pick<Row, 'key' | 'kept'>,
  { count }: Pick<Moment, 'count'>,
): Promise<readonly OutputMessage[]> {
  count('opened')
  return listed(await rules.open(row.key, keptOf(rules, row)))
}

/** Ends a gate that has waited too long. */
export async function expire(
  rules: Rules,
  row: Row,
  { now, count }: Moment,
): Promise<readonly OutputMessage[]> {
  const missing = Object.keys(rules.facts).filter((_, index) => row.came[index] === null)
  row.expiredAt = now
  row.hasChanged = true
  count('expired')
  return listed(await rules.expire?.(row.key, missing, keptOf(rules, row)))
}

/** Until when a gate that begins now waits. */
export function deadline({ timeout }: Pick<Rules, 'timeout'>, now: number): number | null {
  return timeout === undefined ? null : now + timeout
}

async function comeLate(
  rules: Rules,
  row: Row,
  { index, kept }: Arrival,
  { now, count }: Moment,
): Promise<readonly OutputMessage[]> {
  const saysNothingNew = row.came[index] !== null && isDeepStrictEqual(row.kept[index], kept)
  count(saysNothingNew ? 'repeated' : 'late')
  if (saysNothingNew || rules.late === 'ignore') return []
  const fact = Object.keys(rules.facts)[index] as string
  const after = row.openedAt === null ? 'expired' : 'opened'
  if (typeof rules.late !== 'function')
    throw new NonRetryableError(`The fact '${fact}' came after its gate had ${after}.`)
  note(row, index, kept, now)
  return listed(await rules.late(row.key, { fact, after, facts: keptOf(rules, row) }))
}

/** Without `came`, all of them have. */
function keptOf(
  { facts }: Rules,
  { came, kept }: Pick<Row, 'kept'> & Partial<Row>,
): Record<string, unknown> {
  const entries = Object.entries(facts).map(([name, { keep }], index) =>
    keep === undefined || came?.[index] === null ? [] : [[name, kept[index]] as const],
  )
  return Object.fromEntries(entries.flat())
}

function listed(outputs: Outputs<AnyTopic>): readonly OutputMessage[] {
  if (outputs === undefined) return []
  return Array.isArray(outputs) ? outputs : [outputs as OutputMessage]
}
