/** What a service has met since it was started. Numbers only go up. */
export interface ServiceCounts {
  readonly service: string
  /** Messages whose event had its effect already. */
  duplicates: number
  /** Messages that were older than what their key has. */
  stale: number
  /** Messages that carry no event id, so that their record counted. */
  idsMissing: number
  /** Outputs that a previous owner had stored and not published. */
  recovered: number
  /** Messages that were handled again, as somebody else had changed their key's state meanwhile. */
  repeated: number
  /**
   * Partitions that started anew from the ledger: a newer owner was there, the answer to a commit was lost, or the store
   * has lost commits.
   */
  restarts: number
  /** Failed tries after which a message was held to be tried again. */
  retries: number
  /** Messages that were given up. */
  deadLetters: number
  /** How often handlers have failed for reasons that were no message's fault until everything was held. */
  outages: number
  /** Runs of its schedule that failed. */
  failedRuns: number
  /** What its handlers count themselves by `context.count`, by name. */
  readonly own: Record<string, number>
  /** What its handlers have measured by `context.gauge`, by name: up and down. */
  readonly gauges: Record<string, number>
}

// So that a name made of a key or an id cannot fill the memory.
const mostNames = 100

/** Adds to a number of a handler's own; what comes after too many names is counted as `other`. */
export function countOwn(counts: Pick<ServiceCounts, 'own'>, name: string, by: number): void {
  const { own } = counts
  const under = nameIn(own, name)
  own[under] = (own[under] ?? 0) + by
}

/** Sets a number of a handler's own. */
export function setGauge(
  { gauges }: Pick<ServiceCounts, 'gauges'>,
  name: string,
  value: number,
): void {
  gauges[nameIn(gauges, name)] = value
}

function nameIn(numbers: Readonly<Record<string, number>>, name: string): string {
  return Object.hasOwn(numbers, name) || Object.keys(numbers).length < mostNames ? name : 'other'
}

export function newCounts(service: string): ServiceCounts {
  return {
    service,
    duplicates: 0,
    stale: 0,
    idsMissing: 0,
    recovered: 0,
    repeated: 0,
    restarts: 0,
    retries: 0,
    deadLetters: 0,
    outages: 0,
    failedRuns: 0,
    own: {},
    gauges: {},
  }
}
