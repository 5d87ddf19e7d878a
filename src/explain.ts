import { type CrashOutcome, crashOutcomes } from './crash-outcomes.ts'
import { durationText } from './duration.ts'
import type { Service } from './service.ts'
import { hintsOf, limitsOf } from './service-limits.ts'
import type { OutsideReset } from './service-options.ts'

/** What was chosen, by the word that options have for it, and what that means. */
export interface Choice<Word extends string = string> {
  readonly choice: Word
  readonly meaning: string
}

/** What keeps a process out that has lost a partition and does not know it yet. */
export type Fence = 'ledger' | 'transaction' | 'none'

/** What holds for a service and why, as data: sentences to read, words to go by. */
export interface Explanation {
  readonly service: string
  /** The promise in short. */
  readonly guarantee: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly order: Choice
  readonly idempotency: Choice
  /** Where what the service knows is kept. */
  readonly state: Choice<'store' | 'none'>
  readonly publish: Choice
  readonly fence: Choice<Fence>
  /** What becomes of a message that fails; its choice is where that ends. */
  readonly failures: Choice<'dead-letter' | 'stop'>
  /** What it does by time; its choice is how often. Null when it does nothing so. */
  readonly schedule: Choice | null
  /** Where work starts when something else than the service has set the group's offset. */
  readonly outsideReset: Choice<OutsideReset>
  /** What becomes of a message when the process dies, by how far it had come; in the order of its way. */
  readonly crashOutcomes: readonly CrashOutcome[]
  readonly notPromised: readonly string[]
  readonly hints: readonly string[]
}

/** Says what is promised for a service. It looks at the declaration alone; nothing is connected or run. */
export function explain(service: Service): Explanation {
  return {
    service: service.name,
    guarantee: guaranteeOf(service),
    inputs: service.inputs.map(({ name }) => name),
    outputs: service.outputs.map(({ name }) => name),
    order: orderOf(service),
    idempotency: idempotencyOf(service),
    state: stateOf(service),
    publish: publishOf(service),
    fence: { choice: fenceOf(service), meaning: fenceMeaning(service) },
    failures: failuresOf(service),
    schedule: scheduleOf(service),
    outsideReset: outsideResetOf(service),
    crashOutcomes: crashOutcomes(service),
    notPromised: limitsOf(service),
    hints: hintsOf(service),
  }
}

/** What fences this service's writes. */
export function fenceOf({ needsStore, options }: Service): Fence {
  if (options.publish === 'transaction') return 'transaction'
  return needsStore && options.fencing ? 'ledger' : 'none'
}

function guaranteeOf(service: Service): string {
  const { outputs, options } = service
  if (options.publish === 'transaction') {
    return 'Exactly once from Kafka to Kafka: outputs and position become visible together, to readers with read_committed.'
  }
  const effects = effectsOf(service)
  if (outputs.length === 0) return effects
  return options.publish === 'outbox'
    ? `${effects} Outputs are published at least once; copies have the same id and the same content.`
    : `${effects} Outputs are published at least once; copies have the same id unless their content differs.`
}

function effectsOf(service: Service): string {
  const { idempotency } = service
  switch (idempotency?.by) {
    case 'offset':
      return 'Each record has its effect in the store once.'
    case 'event-id':
      return `Each event has its effect in the store once, also when it was written several times within ${durationText(idempotency.window)}.`
    case 'version':
      return 'Each key has its newest version; older and repeated ones have no effect.'
    case 'natural':
      return fenceOf(service) === 'ledger'
        ? 'Each record has its effect in the store once; that its copies are harmless is your word.'
        : 'At least once: no message is lost, and some are handled again, which is harmless by your word.'
    case undefined:
      return 'At least once: no message is lost, and after a crash some are handled again.'
  }
}

function orderOf(service: Service): Choice {
  const { order } = service.options
  return { choice: order, meaning: `${orderMeanings[order]} ${atOnce(service)}` }
}

function atOnce({ uses, handleMany, options: { concurrency, batch } }: Service): string {
  const isShared = Object.keys(uses).length > 0
  if (handleMany === undefined) {
    return isShared
      ? 'Handlers run one after the other, as they share a transaction.'
      : `Up to ${concurrency} handlers run at once in a process.`
  }
  const many = `A call of handleMany is given up to ${batch} messages, those of a partition in their order.`
  return isShared
    ? `${many} Each has a transaction, one after the other.`
    : `${many} Up to ${concurrency} calls run at once in a process, with messages of different partitions.`
}

const orderMeanings: Readonly<Record<Service['options']['order'], string>> = {
  key: 'Messages of a key are handled one after the other, those without a key by partition.',
  partition: 'Messages of a partition are handled one after the other.',
  none: 'Messages are handled in any order.',
}

function failuresOf({ options: { retry, deadLetter } }: Service): Choice<'dead-letter' | 'stop'> {
  const times = retry.attempts === 1 ? 'once' : `${retry.attempts} times`
  const tried = `A message is tried ${times}; an outage costs none of that.`
  return deadLetter === undefined
    ? { choice: 'stop', meaning: `${tried} Then its partition stops in front of it.` }
    : { choice: 'dead-letter', meaning: `${tried} Then it goes to ${deadLetter}.` }
}

function scheduleOf({ schedule, inputs: [first] }: Service): Choice | null {
  if (schedule === undefined) return null
  return {
    choice: `every ${durationText(schedule.every)}`,
    meaning: `One process runs it, the owner of ${first?.name}/0, in a transaction between those of messages. What it writes and stores to be sent is there as a whole or not at all; a run that fails or is cut off comes again.`,
  }
}

function idempotencyOf({ idempotency, options }: Service): Choice {
  switch (idempotency?.by) {
    case 'offset':
      return {
        choice: 'offset',
        meaning:
          'The ledger knows which positions have had their effect; a record that is delivered again is passed over.',
      }
    case 'event-id': {
      const id =
        idempotency.id === undefined
          ? 'its header id, else CloudEvents’ ce_source and ce_id'
          : 'what idempotency.id gives'
      return {
        choice: 'event-id',
        meaning: `The store remembers each event for ${durationText(idempotency.window)} by ${id}; a copy that comes meanwhile is passed over.`,
      }
    }
    case 'version':
      return {
        choice: 'version',
        meaning:
          'The store remembers the newest version of each key; a message that is not newer is passed over.',
      }
    case 'natural':
      return {
        choice: 'natural',
        meaning:
          'Your word: repeating is harmless. Nothing is looked up, and nothing is remembered.',
      }
    case undefined:
      return {
        choice: 'none',
        meaning:
          options.publish === 'transaction'
            ? 'Nothing is remembered; the position is part of the transaction.'
            : 'Nothing is remembered: what is delivered again is handled again.',
      }
  }
}

function stateOf({
  needsStore,
  state,
  uses,
  idempotency,
  options,
}: Service): Choice<'store' | 'none'> {
  if (!needsStore)
    return { choice: 'none', meaning: 'Nothing is kept but the position in the group.' }
  const kept = [
    ...(state === undefined ? [] : [`a value for each key (${state.name})`]),
    ...(Object.keys(uses).length > 0 ? ['what handlers write in tables of their own'] : []),
    ...(idempotency?.by === 'event-id' ? ['a mark for each event'] : []),
    ...(idempotency?.by === 'version' ? ['the newest version of each key'] : []),
    ...(options.publish === 'outbox' ? ['outputs until they are acknowledged'] : []),
    ...(options.fencing ? ['the position in each partition'] : []),
  ]
  return {
    choice: 'store',
    meaning: `In the store, what one unit changes in one transaction: ${kept.join(', ')}.`,
  }
}

function publishOf({ outputs, needsStore, options: { publish } }: Service): Choice {
  if (outputs.length === 0 && publish !== 'transaction')
    return { choice: 'none', meaning: 'There are no outputs.' }
  switch (publish) {
    case 'outbox':
      return {
        choice: publish,
        meaning:
          'Outputs are stored in the transaction of their effects and published after it; what a crash leaves behind is published by the next owner.',
      }
    case 'direct':
      return {
        choice: publish,
        meaning: needsStore
          ? 'Outputs are published first, and effects are stored when they are acknowledged.'
          : 'Outputs are published, and the offset is committed when they are acknowledged.',
      }
    case 'transaction':
      return {
        choice: publish,
        meaning: 'Outputs and offset are committed in one transaction of Kafka.',
      }
  }
}

function fenceMeaning(service: Service): string {
  switch (fenceOf(service)) {
    case 'ledger':
      return 'A process that has lost a partition can store nothing for it any more: the ledger has a newer epoch.'
    case 'transaction':
      return 'A process that has lost a partition cannot commit for it any more: the group refuses its transaction.'
    case 'none':
      return service.needsStore
        ? 'A process that has lost a partition and does not know it yet may still write to the store.'
        : 'A process that has lost a partition and does not know it yet may still publish; its offsets are refused.'
  }
}

function outsideResetOf(service: Service): Choice<OutsideReset> {
  if (fenceOf(service) !== 'ledger') {
    return { choice: 'follow', meaning: 'Work starts at the group’s offset, whoever has set it.' }
  }
  const { outsideReset } = service.options
  return {
    choice: outsideReset,
    meaning: `Work starts where the ledger says. ${outsideResetMeanings[outsideReset]}`,
  }
}

const outsideResetMeanings: Readonly<Record<OutsideReset, string>> = {
  stop: 'Where something else has set the group’s offset, the service stops and says both.',
  ledger: 'Where something else has set the group’s offset, the ledger’s is committed over it.',
  follow:
    'Where something else has set the group’s offset, it starts there: forwards it skips messages, backwards it handles them again.',
}
