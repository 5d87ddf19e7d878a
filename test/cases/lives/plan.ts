import fc from 'fast-check'

/** One event, of which there may be several records. */
export interface PlannedEvent {
  readonly key: string
  readonly isOther: boolean
  /** Whether its records carry its id. */
  readonly hasId: boolean
  readonly version: number
}

export interface PlannedRecord {
  /** An index of `events`. */
  readonly event: number
  /** Undefined: where the records of its key usually go. */
  readonly partition: number | undefined
}

/** One time that the service is started. */
export interface PlannedLife {
  /** After how many steps each process dies; undefined: it does not. */
  readonly deaths: readonly (number | undefined)[]
  /** The event that fails in this life. */
  readonly failing: number | undefined
  /** Whether it is the broker that refuses its output, or its handler that throws. */
  readonly isRefused: boolean
}

export interface Plan {
  readonly seed: number
  readonly by: 'offset' | 'event-id' | 'version'
  /** Nothing: then the outputs are all the effect there is, in the broker's transactions. */
  readonly keeps: 'state' | 'table' | 'nothing'
  readonly publish: 'outbox' | 'direct' | 'transaction'
  readonly concurrency: number
  readonly buffer: number
  readonly events: readonly PlannedEvent[]
  readonly records: readonly PlannedRecord[]
  readonly lives: readonly PlannedLife[]
  /** How often a handler waits for nothing, and how often a call of the store goes wrong, in percent. */
  readonly sync: number
  readonly trouble: number
}

const events: fc.Arbitrary<PlannedEvent> = fc.record({
  key: fc.constantFrom('a', 'b', 'c', 'd'),
  isOther: fc.boolean(),
  hasId: fc.integer({ min: 0, max: 9 }).map((chance) => chance > 0),
  version: fc.nat(5),
})

const lives: fc.Arbitrary<PlannedLife> = fc.record({
  deaths: fc.array(fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined, freq: 4 }), {
    minLength: 1,
    maxLength: 2,
  }),
  failing: fc.option(fc.nat(11), { nil: undefined, freq: 2 }),
  isRefused: fc.boolean(),
})

/** What goes with what is kept. */
const possible: Readonly<Record<Plan['keeps'], Partial<Plan>>> = {
  state: {},
  // What handlers write themselves is stored with their outputs or not at all.
  table: { publish: 'outbox' },
  nothing: { publish: 'transaction', by: 'offset' },
}

export const plans: fc.Arbitrary<Plan> = fc
  .record({
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    by: fc.constantFrom('offset' as const, 'event-id' as const, 'version' as const),
    keeps: fc.constantFrom('state' as const, 'table' as const, 'nothing' as const),
    publish: fc.constantFrom('outbox' as const, 'outbox' as const, 'direct' as const),
    concurrency: fc.constantFrom(1, 2, 8, 64),
    buffer: fc.constantFrom(1, 4, 10_000),
    // Few of them: then there are many copies.
    events: fc.array(events, { minLength: 1, maxLength: 12 }),
    records: fc.array(
      fc.record({
        event: fc.nat(11),
        partition: fc.option(fc.nat(2), { nil: undefined, freq: 3 }),
      }),
      { minLength: 1, maxLength: 50 },
    ),
    lives: fc.array(lives, { maxLength: 4 }),
    sync: fc.constantFrom(0, 50, 100),
    trouble: fc.constantFrom(0, 5, 20),
  })
  .map((plan) => ({
    ...plan,
    ...possible[plan.keeps],
    records: plan.records.map((record) => ({
      ...record,
      event: record.event % plan.events.length,
    })),
  }))
