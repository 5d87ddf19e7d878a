import { defineService, type Service, text, topic } from '../../src/index.ts'
import { postgresTransaction } from '../../src/postgres/index.ts'

/** The mechanisms of which each has a promise. */
export type Mechanism =
  | 'direct'
  | 'offset'
  | 'event-id'
  | 'version'
  | 'direct-stored'
  | 'own-sql'
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
  /** How long a handler takes at most, in milliseconds. Default 7. */
  readonly slowest?: number | undefined
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
  const { mechanism, group } = settings
  const input = topic(settings.input, { key: text, value: text })
  const output = topic(settings.output, { key: text, value: text })
  const given = { inputs: [input], outputs: [output], concurrency: 32 } as const

  const begin = async (value: string): Promise<string> => {
    const effect = `${value}/${settings.owner}/${Date.now()}`
    // Some take longer than others, so that they finish in another order than they began.
    const wait = eventOf(value) % ((settings.slowest ?? 7) + 1)
    if (wait > 2) await new Promise((resolve) => setTimeout(resolve, wait))
    return effect
  }
  const end = (key: string, value: string, work = '') => {
    if (eventOf(value) === settings.failing) throw new Error(`event ${value} fails: ${work}`)
    return output.message({ key, value, headers: { owner: settings.owner } })
  }

  if (mechanism === 'direct' || mechanism === 'transaction') {
    return defineService(group, {
      ...given,
      publish: mechanism,
      async handle({ key, value }) {
        await begin(value)
        return end(key, value)
      },
    })
  }
  if (mechanism === 'own-sql') {
    return defineService(group, {
      ...given,
      uses: { db: postgresTransaction },
      async handle({ key, value }, { db }) {
        const [event, owner, started] = (await begin(value)).split('/')
        const [row] = await db.query<{ readonly transaction: string }>(
          `insert into "${group}".effects (key, value, owner, started) values ($1, $2, $3, $4)
            returning transaction::text`,
          [key, event, owner, started],
        )
        if (settings.counts === true)
          await db.query(
            `insert into "${group}".counts as row (key, number) values ($1, 1)
              on conflict (key) do update set number = row.number + 1`,
            [key],
          )
        return end(key, value, `transaction ${row?.transaction}`)
      },
    })
  }
  return defineService(group, {
    ...given,
    state: text,
    ...(mechanism === 'event-id' ? { idempotency: { by: 'event-id' } } : {}),
    ...(mechanism === 'version' ? { idempotency: { by: 'version', of: versionOf } } : {}),
    ...(mechanism === 'direct-stored' ? { publish: 'direct' } : {}),
    async handle({ key, value }, { state }) {
      const effect = await begin(value)
      const effects = await state.get()
      await state.put(effects === undefined ? effect : `${effects} ${effect}`)
      // What is published before it is stored may come out otherwise the next time.
      return end(key, mechanism === 'direct-stored' ? `${value} ${effect}` : value)
    },
  })
}

/** The number of the event that an input, or its output, is about. */
export function eventOf(value: string): number {
  return Number.parseInt(value, 10)
}

/** The version in an input. */
export function versionOf({ value }: { readonly value: string }): number {
  return Number(value.split('@')[1])
}
