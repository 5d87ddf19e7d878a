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
  /** Units that were done again, as somebody else had changed what they were built on. */
  conflicts: number
  /** Units that were refused, as their partition has a newer owner, or as the answer to a commit was lost. */
  fenced: number
}

export function newCounts(service: string): ServiceCounts {
  return {
    service,
    duplicates: 0,
    stale: 0,
    idsMissing: 0,
    recovered: 0,
    conflicts: 0,
    fenced: 0,
  }
}
