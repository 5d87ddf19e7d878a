import { defineService, type Service, text, topic } from '../../src/index.ts'
import { postgresTransaction } from '../../src/postgres/index.ts'
import { stopsAtFailure } from '../stops-at-failure.ts'
import type { Effect } from './effects.ts'

/** The mechanisms of which each has a promise. */
export type Mechanism =
  | 'direct'
  | 'offset'
  | 'event-id'
  | 'version'
  | 'direct-stored'
  | 'own-sql'
  | 'batches'
  | 'own-sql-batches'
  | 'transaction'

export interface ServiceNames {
  readonly input: string
  readonly output: string
  /** The service's name. */
  readonly group: string
}

export interface ServiceSettings extends ServiceNames {
  readonly mechanism: Mechanism
  /** Says in all that it writes which process it was. No blanks, no slashes. */
  readonly owner: string
  /** The event whose handler fails after it has written. */
  readonly failing?: number | undefined
  /** `own-sql` counts each key's events in a row of its own as well, which one transaction at a time may change. */
  readonly counts?: boolean | undefined
}

/**
 * A service that writes down what it was given: as an output, and in its state or its own table with who did it when. Inputs
 * are the number of an event; with versions, `event@version`.
 */
export function serviceOf(settings: ServiceSettings): Service {
  const { mechanism } = settings
  if (mechanism === 'own-sql') return withOwnSql(settings)
  if (mechanism === 'batches') return inBatches(settings)
  if (mechanism === 'own-sql-batches') return inBatchesWithOwnSql(settings)
  if (mechanism === 'direct' || mechanism === 'transaction') {
    const { group, output, common } = partsOf(settings)
    return defineService(group, {
      ...common,
      publish: mechanism,
      async handle({ key, value }) {
        return output(key, await begin(value, settings))
      },
    })
  }
  return withState(settings)
}

function withState(settings: ServiceSettings): Service {
  const { group, output, common } = partsOf(settings)
  const { mechanism } = settings
  return defineService(group, {
    ...common,
    state: text,
    ...(mechanism === 'event-id' ? { idempotency: { by: 'event-id' } } : {}),
    ...(mechanism === 'version' ? { idempotency: { by: 'version', of: versionOf } } : {}),
    ...(mechanism === 'direct-stored' ? { publish: 'direct' } : {}),
    async handle({ key, value }, { state }) {
      const effect = await begin(value, settings)
      const effects = await state.get()
      await state.put(effects === undefined ? textOf(effect) : `${effects} ${textOf(effect)}`)
      // What is published before it is stored may come out otherwise the next time.
      return output(key, effect, mechanism === 'direct-stored' ? ` ${textOf(effect)}` : '')
    },
  })
}

function withOwnSql(settings: ServiceSettings): Service {
  const { group, output, common } = partsOf(settings)
  return defineService(group, {
    ...common,
    ...(settings.failing === undefined ? {} : stopsAtFailure),
    uses: { db: postgresTransaction },
    async handle({ key, value }, { db }) {
      const effect = await begin(value, settings)
      const [row] = await db.query<{ readonly transaction: string }>(
        `insert into "${group}".effects (key, value, owner, started) values ($1, $2, $3, $4)
          returning transaction::text`,
        [key, value, effect.owner, effect.started],
      )
      if (settings.counts === true)
        await db.query(
          `insert into "${group}".counts as row (key, number) values ($1, 1)
            on conflict (key) do update set number = row.number + 1`,
          [key],
        )
      if (eventOf(value) === settings.failing)
        throw new Error(`event ${value} fails: transaction ${row?.transaction}`)
      return output(key, effect)
    },
  })
}

// Small ones, so that several calls run at once.
const batch = 7

function inBatches(settings: ServiceSettings): Service {
  const { group, output, common } = partsOf(settings)
  return defineService(group, {
    ...common,
    batch,
    handleMany: async (messages) =>
      await Promise.all(
        messages.map(async (message) => {
          const effect = await begin(message.value, settings)
          return { message, outputs: output(message.key, effect) }
        }),
      ),
  })
}

function inBatchesWithOwnSql(settings: ServiceSettings): Service {
  const { group, output, common } = partsOf(settings)
  return defineService(group, {
    ...common,
    batch,
    uses: { db: postgresTransaction },
    async handleMany(messages, { db }) {
      const effects = await Promise.all(messages.map(({ value }) => begin(value, settings)))
      await db.query(
        `insert into "${group}".effects (key, value, owner, started)
          select * from unnest($1::text[], $2::text[], $3::text[], $4::int8[])`,
        [
          messages.map(({ key }) => key),
          effects.map(({ value }) => value),
          effects.map(({ owner }) => owner),
          effects.map(({ started }) => started),
        ],
      )
      return messages.map((message, index) => ({
        message,
        outputs: output(message.key, effects[index] as Omit<Effect, 'key'>),
      }))
    },
  })
}

function partsOf({ group, ...names }: ServiceSettings) {
  const from = topic(names.input, { key: text, value: text })
  const to = topic(names.output, { key: text, value: text })
  return {
    group,
    common: { inputs: [from], outputs: [to], concurrency: 32 } as const,
    output: (key: string, { value, owner, started }: Omit<Effect, 'key'>, more = '') =>
      to.message({ key, value: `${value}${more}`, headers: { owner, started: `${started}` } }),
  }
}

async function begin(value: string, { owner }: ServiceSettings): Promise<Omit<Effect, 'key'>> {
  const started = Date.now()
  // Some take longer than others, so that they finish in another order than they began.
  const wait = eventOf(value) % 8
  if (wait > 2) await new Promise((resolve) => setTimeout(resolve, wait))
  return { value, owner, started }
}

function textOf({ value, owner, started }: Omit<Effect, 'key'>): string {
  return `${value}/${owner}/${started}`
}

/** The number of the event that an input, or its output, is about. */
export function eventOf(value: string): number {
  return Number.parseInt(value, 10)
}

/** The version in an input. */
export function versionOf({ value }: { readonly value: string }): number {
  return Number(value.split('@')[1])
}
