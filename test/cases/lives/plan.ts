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
  readonly keeps: 'state' | 'table'
  readonly publish: 'outbox' | 'direct'
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
  failing: fc.option(fc.nat(19), { nil: undefined, freq: 2 }),
  isRefused: fc.boolean(),
})

export const plans: fc.Arbitrary<Plan> = fc
  .record({
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    by: fc.constantFrom('offset' as const, 'event-id' as const, 'version' as const),
    keeps: fc.constantFrom('state' as const, 'table' as const),
    publish: fc.constantFrom('outbox' as const, 'outbox' as const, 'direct' as const),
    concurrency: fc.constantFrom(1, 2, 8, 64),
    buffer: fc.constantFrom(1, 4, 10_000),
    events: fc.array(events, { minLength: 1, maxLength: 20 }),
    records: fc.array(
      fc.record({
        event: fc.nat(19),
        partition: fc.option(fc.nat(2), { nil: undefined, freq: 2 }),
      }),
      { minLength: 1, maxLength: 50 },
    ),
    lives: fc.array(lives, { maxLength: 4 }),
    sync: fc.constantFrom(0, 50, 100),
    trouble: fc.constantFrom(0, 5, 20),
  })
  .map((plan) => ({
    ...plan,
    // What handlers write themselves is stored with their outputs or not at all.
    publish: plan.keeps === 'table' ? ('outbox' as const) : plan.publish,
    records: plan.records.map((record) => ({
      ...record,
      event: record.event % plan.events.length,
    })),
  }))
