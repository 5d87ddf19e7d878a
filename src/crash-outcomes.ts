import type { Service } from './service.ts'

/** How far a message had come when its process died. */
export type CrashMoment =
  | 'polled'
  | 'handled'
  | 'stored'
  | 'published'
  | 'acknowledged'
  | 'committed'

/** What follows from a crash at one point. */
export interface CrashOutcome {
  readonly moment: CrashMoment
  /** Whether its handler runs (again) in the next owner. */
  readonly isHandledAgain: boolean
  readonly meaning: string
}

/** What becomes of a message of this service when its process dies, in the order of the message's way. */
export function crashOutcomes(service: Service): readonly CrashOutcome[] {
  const { outputs, needsStore, options } = service
  const sending = outputs.length > 0
  if (options.publish === 'transaction') return transactionOutcomes
  if (!needsStore)
    return [...beginning(service), ...(sending ? sentFirst : []), { ...over, meaning: committed }]
  if (options.publish === 'outbox')
    return [...beginning(service), ...(sending ? storedFirst : [stored(service)]), lastOf(sending)]
  return [
    ...beginning(service),
    ...(sending ? sentFirst : []),
    stored(service),
    { ...over, meaning: committed },
  ]
}

function beginning({ outputs, state, uses }: Service): readonly CrashOutcome[] {
  const lost = [
    ...(state === undefined ? [] : ['its change of state was in memory only']),
    ...(Object.keys(uses).length > 0 ? ['what its handler wrote is rolled back'] : []),
    ...(outputs.length > 0 ? ['no output was sent'] : []),
  ]
  return [
    { moment: 'polled', isHandledAgain: true, meaning: 'Nothing had happened to it yet.' },
    {
      moment: 'handled',
      isHandledAgain: true,
      meaning: lost.length === 0 ? 'It is handled again.' : sentence(lost.join(', ')),
    },
  ]
}

const sentFirst: readonly CrashOutcome[] = [
  {
    moment: 'published',
    isHandledAgain: true,
    meaning: 'Its outputs may be there already, and are published again.',
  },
  {
    moment: 'acknowledged',
    isHandledAgain: true,
    meaning: 'Its outputs are there, and are published again.',
  },
]

const storedFirst: readonly CrashOutcome[] = [
  {
    moment: 'stored',
    isHandledAgain: false,
    meaning: 'Its effects are there; the next owner publishes its outputs from the store.',
  },
  {
    moment: 'published',
    isHandledAgain: false,
    meaning:
      'Its outputs may be there already; the next owner publishes them again from the store.',
  },
  {
    moment: 'acknowledged',
    isHandledAgain: false,
    meaning:
      'Its outputs are there; they are published again if the store was not told yet, which happens with the next unit, or half a second later.',
  },
]

const transactionOutcomes: readonly CrashOutcome[] = [
  { moment: 'polled', isHandledAgain: true, meaning: 'Nothing had happened to it yet.' },
  { moment: 'handled', isHandledAgain: true, meaning: 'No output was sent.' },
  {
    moment: 'published',
    isHandledAgain: true,
    meaning: 'The transaction is aborted; readers with read_committed never see its outputs.',
  },
  {
    moment: 'acknowledged',
    isHandledAgain: true,
    meaning: 'The same: outputs count once the transaction is committed.',
  },
  {
    moment: 'committed',
    isHandledAgain: false,
    meaning: 'Outputs and offset have become visible together.',
  },
]

const over = { moment: 'committed', isHandledAgain: false } as const
const committed = 'Everything is done.'

function lastOf(sending: boolean): CrashOutcome {
  return {
    ...over,
    meaning: sending
      ? 'Everything is done; until the store was told, its outputs are published again.'
      : committed,
  }
}

/** After the store's commit, where nothing is to be published any more. */
function stored({ idempotency, options }: Service): CrashOutcome {
  if (options.fencing)
    return {
      moment: 'stored',
      isHandledAgain: false,
      meaning: 'Its effects are there, and the ledger says so.',
    }
  if (idempotency?.by === 'version')
    return {
      moment: 'stored',
      isHandledAgain: false,
      meaning: 'It is delivered again and passed over: its key has that version.',
    }
  return {
    moment: 'stored',
    isHandledAgain: true,
    meaning: 'Its effects are there, and it has them again: harmless by your word.',
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
