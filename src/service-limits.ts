import { durationText } from './duration.ts'
import type { Service } from './service.ts'

/** What is not promised for this service, a sentence each. */
export function limitsOf(service: Service): readonly string[] {
  const { outputs, options, handleMany } = service
  return [
    ...idempotencyLimits(service),
    ...(outputs.length === 0 ? [] : outputLimits(service)),
    ...(options.order === 'none'
      ? []
      : ['Order across partitions: a key that comes by two of them has none between them.']),
    ...(options.start === 'latest'
      ? ['Records that were written before the group first committed: start is latest.']
      : []),
    ...resetLimits(service),
    'What a handler does in other systems is neither fenced nor taken back; message.id can be its idempotency key there.',
    'Attempts that outlive the process: after a restart a message that fails has all of them again.',
    ...(handleMany === undefined
      ? []
      : [
          'That a message is in one call only: a call that fails is repeated with halves, also with messages that had their turn in it.',
        ]),
  ]
}

function idempotencyLimits({ idempotency, inputs }: Service): string[] {
  switch (idempotency?.by) {
    case 'offset':
      return [
        'Copies that a producer wrote are records of their own, and have effects of their own.',
      ]
    case 'event-id':
      return [
        `A copy that comes more than ${durationText(idempotency.window)} after the first is a new event.`,
        ...(inputs.length > 1
          ? ['An id counts within its topic: in another one it is another event.']
          : []),
      ]
    case 'version':
      return [
        'What is remembered for a key stays for ever.',
        'Of two equal versions that come by two partitions, the one handled first stands.',
      ]
    case 'natural':
      return ['Nothing notices a message that comes again: that this is harmless is your word.']
    case undefined:
      return []
  }
}

function resetLimits({ needsStore, idempotency, options }: Service): string[] {
  if (!needsStore || !options.fencing || options.outsideReset !== 'follow') return []
  if (idempotency?.by === 'version') return []
  const unless = idempotency?.by === 'event-id' ? ', unless they are events of the last window' : ''
  return [
    `Effects once for records that are read again because the group’s offset was set back${unless}: outsideReset is follow.`,
  ]
}

function outputLimits({ needsStore, options: { publish } }: Service): string[] {
  if (publish === 'transaction') {
    return [
      'Readers without read_committed see outputs of aborted transactions, too.',
      'A process that dies leaves a transaction open, which holds up readers of its outputs and the next owner until its time limit.',
    ]
  }
  const late =
    'A process that was paused may have outputs on their way: an old copy can arrive after newer outputs, under the id it always had.'
  if (publish === 'outbox') return [late]
  const twice = needsStore
    ? 'A handler that comes to another result when it runs again publishes both; the second one’s is stored.'
    : 'A handler that comes to another result when it runs again publishes both.'
  return [late, twice]
}

/** What is worth a look in this service, a sentence each. */
export function hintsOf(service: Service): readonly string[] {
  const { outputs, uses, needsStore, handleMany, options } = service
  return [
    ...idempotencyHints(service),
    ...(outputs.length > 0 && needsStore && options.publish === 'direct'
      ? ["publish: 'outbox' would publish one result again, instead of running the handler again."]
      : []),
    ...(outputs.length > 0 && options.publish !== 'transaction'
      ? [
          "Outputs can be there twice: readers that count them go by their header id; in a Pollux service that is idempotency: { by: 'event-id' }.",
        ]
      : []),
    ...(Object.keys(uses).length > 0 && handleMany === undefined
      ? [
          'Keep handlers short, as one waits for the other; more processes, up to the number of partitions, do more; handleMany writes many messages with one statement.',
        ]
      : []),
  ]
}

function idempotencyHints(service: Service): string[] {
  const { idempotency, inputs } = service
  if (idempotency?.by === 'offset') {
    return [
      "Where producers may write an event twice, idempotency: { by: 'event-id' } has its effect once.",
    ]
  }
  if (idempotency?.by === 'version') {
    return [
      'The version has to grow with each change of a key: a sequence number does, a clock may not.',
    ]
  }
  if (idempotency?.by !== 'event-id') return []
  const topics = inputs.map(({ name }) => name).join(', ')
  const ids =
    idempotency.id === undefined
      ? [
          `An event without an id counts by its record, so its copies are not recognised. Outputs of Pollux services have one; whoever else writes to ${topics} has to set the header id.`,
        ]
      : []
  return [...ids, windowHint(service, idempotency.window)]
}

function windowHint({ inputs }: Service, window: number): string {
  const longer = inputs.find(({ create }) => {
    const retention = Number(create.config?.['retention.ms'] ?? 0)
    return retention < 0 || retention > window
  })
  return longer === undefined
    ? `Input topics should not keep records for longer than the window of ${durationText(window)}: one that is read again after it has its effect twice.`
    : `${longer.name} keeps records for longer than the window of ${durationText(window)}: one that is read again after it has its effect twice. Make idempotency.window at least its retention.ms.`
}
