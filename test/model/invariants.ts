import type { Violation } from './machine.ts'
import { at, type Model } from './model.ts'
import { isSettled, messageNames, type State } from './state.ts'

/** Says what is wrong with one message, key or partition; undefined when nothing is. */
type Check = (model: Model, state: State, index: number) => string | undefined

/** The first thing that is wrong in a state. */
export function violationIn(model: Model, state: State): Violation | undefined {
  for (const [kind, items, check] of checksOf(model)) {
    for (const index of items) {
      const what = check(model, state, index)
      if (what !== undefined) return { kind, what }
    }
  }
  return undefined
}

function checksOf(
  model: Model,
): readonly (readonly [kind: string, items: readonly number[], check: Check])[] {
  const { messages } = model
  const always = [
    ['effect twice', messages, appliedTwice],
    ['effects out of order', messages, appliedTooEarly],
    ['built on lost work', [...model.keys.keys()], builtOnLostWork],
    ['outputs out of order', messages, publishedTooEarly],
    ['lost output', messages, outputLost],
  ] as const
  // A store that has lost a commit makes the outputs and offsets of that commit look wrong until it is done again.
  if (model.faults.failOver > 0) return always
  return [
    ...always,
    ['phantom output', messages, publishedWithoutEffect],
    ['offset too far', messages, offsetTooFar],
  ]
}

const appliedTwice: Check = (model, { store }, message) => {
  const copies = model.copiesOf(message)
  const count = copies.reduce(
    (sum, copy) => sum + at(store.effects, copy) + at(store.deadLetters, copy),
    0,
  )
  return count > 1 ? `${messageNames(copies)} had ${count} effects` : undefined
}

const appliedTooEarly: Check = (model, { store }, message) => {
  if (at(store.effects, message) + at(store.deadLetters, message) === 0) return undefined
  const missing = model.earlierInLane(message).find((earlier) => !isSettled(model, store, earlier))
  return missing === undefined ? undefined : `m${message} was applied before m${missing}`
}

const builtOnLostWork: Check = (model, { store }, key) => {
  const [value, history] = [at(store.values, key), at(store.histories, key)]
  if (value.length === history.length && value.every((one, index) => one === history[index]))
    return undefined
  const name = at(model.keys, key)
  return `the value of ${name} is made of [${messageNames(value)}], and [${messageNames(history)}] were applied`
}

const publishedTooEarly: Check = (model, { store, log }, message) => {
  const lane = at(log, model.laneOf(message))
  if (!lane.includes(message)) return undefined
  const missing = model
    .earlierInLane(message)
    .find((earlier) => at(store.effects, earlier) > 0 && !lane.includes(earlier))
  return missing === undefined
    ? undefined
    : `output m${message} is in the log before output m${missing}`
}

const outputLost: Check = (model, { store, log }, message) => {
  if (at(store.effects, message) + at(store.deadLetters, message) === 0) return undefined
  const { partition } = model.message(message)
  const isThere =
    at(log, model.laneOf(message)).includes(message) ||
    at(store.outbox, partition).some(({ outputs }) => outputs.includes(message))
  return isThere ? undefined : `output m${message} is neither in the log nor in the outbox`
}

const publishedWithoutEffect: Check = (model, { store, log }, message) =>
  at(log, model.laneOf(message)).includes(message) && !isSettled(model, store, message)
    ? `output m${message} is in the log, and m${message} was not applied`
    : undefined

const offsetTooFar: Check = (model, { store, group }, message) => {
  const { partition, offset } = model.message(message)
  const committed = at(group, partition).offset
  const isSeenTo =
    offset >= committed ||
    isSettled(model, store, message) ||
    at(store.parked, partition).includes(message)
  return isSeenTo ? undefined : `the offset ${committed} of p${partition} has passed m${message}`
}

/** Each event has had its effect and its output, and nothing is left to be done. */
export function isDone(model: Model, { store, group, log }: State): boolean {
  return (
    store.outbox.every((rows) => rows.length === 0) &&
    store.parked.every((rows) => rows.length === 0) &&
    model.partitions.every(
      (messages, partition) => at(group, partition).offset === messages.length,
    ) &&
    model.messages.every((message) => {
      const copies = model.copiesOf(message)
      const { nature } = model.message(message)
      const counts = nature === 'poison' ? store.deadLetters : store.effects
      return (
        copies.some((copy) => at(counts, copy) === 1) &&
        copies.some((copy) => at(log, model.laneOf(copy)).includes(copy))
      )
    })
  )
}

/** At the end a reader of last values has the newest of each key, where the configuration asks for that. */
export function staleLastIn(model: Model, state: State): Violation | undefined {
  const { store, log, members } = state
  const isFinal = members.every(({ sends }) => sends.every((waiting) => waiting.length === 0))
  if (!model.expectsNewestLast || !isFinal || !isDone(model, state)) return undefined
  for (const lane of log) {
    const newest = lane
      .toSorted((a, b) => a - b)
      .findLast((output) => at(store.effects, output) > 0)
    const last = lane.at(-1)
    if (newest !== undefined && last !== newest)
      return {
        kind: 'stale last',
        what: `the log ends with output m${last}, and m${newest} is newer`,
      }
  }
  return undefined
}
