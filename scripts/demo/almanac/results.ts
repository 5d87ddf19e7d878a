import type { z } from 'zod'
import { alerts, highs, moves, priceMoves, Summary } from '../../../examples/bookshop/almanac.ts'
import type { Message } from '../../../src/message.ts'
import type { Broker } from '../../../src/ports/broker.ts'
import type { Store } from '../../../src/ports/store.ts'
import { messagesOf } from '../../../src/testing/logs.ts'
import type { AnyTopic } from '../../../src/topic.ts'
import { readStates } from '../read-states.ts'

/** What the services keep of a symbol. */
export type SymbolSummary = z.infer<typeof Summary>

/** The values of one output topic. */
export interface Output {
  readonly name: string
  /** By symbol, in order; what was sent again with the same id is there once. */
  readonly values: ReadonlyMap<string, readonly unknown[]>
  /** Messages whose id was there before. */
  readonly duplicates: number
}

/** What the services have made of the prices. */
export interface Results {
  readonly summaries: ReadonlyMap<string, SymbolSummary>
  readonly outputs: readonly Output[]
}

/** The state that the service keeps of these symbols, where it has any. */
export function readSummaries(
  store: Store,
  symbols: readonly string[],
): Promise<ReadonlyMap<string, SymbolSummary>> {
  return readStates(store, priceMoves, Summary, symbols)
}

/** How many prices are in that state. */
export function countPrices(summaries: ReadonlyMap<string, SymbolSummary>): number {
  return [...summaries.values()].reduce((sum, { count }) => sum + count, 0)
}

export async function readResults(
  broker: Broker,
  store: Store,
  symbols: readonly string[],
): Promise<Results> {
  const topics: readonly AnyTopic[] = [moves, highs, alerts]
  const outputs: Output[] = []
  for (const topic of topics) {
    outputs.push(
      toOutput(topic.name, (await messagesOf(broker, topic)) as readonly Message<string>[]),
    )
  }
  return { summaries: await readSummaries(store, symbols), outputs }
}

function toOutput(name: string, messages: readonly Message<string>[]): Output {
  const ids = new Set<string>()
  const values = new Map<string, unknown[]>()
  for (const { id, key, value } of messages) {
    if (ids.has(id)) continue
    ids.add(id)
    const list = values.get(key) ?? []
    list.push(value)
    values.set(key, list)
  }
  return { name, values, duplicates: messages.length - ids.size }
}
