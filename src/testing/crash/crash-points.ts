import type { Service } from '../../service.ts'

/** The places where a process can be made to end, in the order in which a message passes them. */
export const crashPoints = [
  /** Partitions were taken over in the store. */
  'acquired',
  /** Records were fetched. */
  'polled',
  /** States and marks were read. */
  'loaded',
  /** A handler is about to be called. */
  'handling',
  /** A handler has succeeded. */
  'handled',
  /** A unit is about to be committed to the store. */
  'storing',
  /** The store has committed a unit, and the service does not know yet. */
  'stored',
  /** Outputs are about to be sent. */
  'publishing',
  /** Outputs are on their way. */
  'sending',
  /** The broker has acknowledged outputs, and the service does not know yet. */
  'published',
  /** The service knows that outputs were acknowledged. */
  'acknowledged',
  /** The store is about to be told that outputs were acknowledged; units tell it by the way, too. */
  'acknowledging outputs',
  /** Positions are about to be committed to the group. */
  'committing',
  /** The group has taken positions. */
  'committed',
] as const

export type CrashPoint = (typeof crashPoints)[number]

/** What happens to a process at a point, at the `count`-th time that it gets there. */
export interface Crash {
  readonly point: CrashPoint
  readonly count: number
  /** `SIGSTOP` freezes the process until somebody sends it SIGCONT. Default `SIGKILL`. */
  readonly signal?: 'SIGKILL' | 'SIGSTOP'
}

/** The points that a service passes. */
export function crashPointsOf(service: Service): readonly CrashPoint[] {
  const { outputs, needsStore, state, idempotency, options } = service
  const { publish, fencing } = options
  const reads =
    state !== undefined || idempotency?.by === 'event-id' || idempotency?.by === 'version'
  const isPassed: Readonly<Record<CrashPoint, boolean>> = {
    acquired: needsStore && fencing,
    polled: true,
    loaded: reads,
    handling: true,
    handled: true,
    storing: needsStore,
    stored: needsStore,
    publishing: outputs.length > 0,
    sending: outputs.length > 0,
    published: outputs.length > 0,
    acknowledged: outputs.length > 0,
    'acknowledging outputs': publish === 'outbox',
    // Transactions of the broker take the positions with them.
    committing: publish !== 'transaction',
    committed: publish !== 'transaction',
  }
  return crashPoints.filter((point) => isPassed[point])
}
