import { shown } from '../errors.ts'
import { checkObject, Problems } from '../options.ts'
import { defineService, type HandlerContext, type Service } from '../service.ts'
import { type HandlerOptions, handlerOptionNames } from '../service-options.ts'
import type { AnyTopic, MessageOf } from '../topic.ts'
import type { DelegateDefinition } from './delegate/definition.ts'
import { Delegation } from './delegate/delegation.ts'
import { readTarget } from './delegate/target.ts'

/**
 * A service that lets another one do the work: it calls, and publishes what comes of the answers. Calls have a time limit,
 * are repeated, spaced out and stopped while the other service is down; whatever it waits for, it stays in its group.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function delegate<
  const I extends AnyTopic,
  R,
  const O extends readonly AnyTopic[] = readonly [],
>(name: string, definition: DelegateDefinition<I, O, R>): Service {
  checkObject('delegate()', definition, '{ input, call(message) { … } }')
  const problems = new Problems()
  const { input, outputs, idempotency, handle, ...others } = definition
  const given = Object.entries(others)
  const isOfService = ([option]: [string, unknown]): boolean => handlerOptionNames.includes(option)
  const target = readTarget<MessageOf<I>, R>(
    name,
    Object.fromEntries(given.filter((entry) => !isOfService(entry))),
    definition.concurrency,
    problems,
  )
  if (handle !== undefined && typeof handle !== 'function')
    problems.add(`handle: expected a function, found ${shown(handle)}`)
  problems.throwIfAny(`Delegate ${shown(name)} is wrong`)
  // A service that runs twice in a process, as tests do, has nothing in common but its clock.
  const delegations = new WeakMap<HandlerContext['clock'], Delegation<MessageOf<I>, R>>()
  const delegationUnder = (clock: HandlerContext['clock']): Delegation<MessageOf<I>, R> => {
    const delegation = delegations.get(clock) ?? new Delegation(target, clock)
    delegations.set(clock, delegation)
    return delegation
  }
  return defineService(name, {
    ...(Object.fromEntries(given.filter(isOfService)) as HandlerOptions),
    inputs: [input],
    ...(outputs === undefined ? {} : { outputs }),
    ...(idempotency === undefined ? {} : { idempotency }),
    async handle(message, context) {
      const result = await delegationUnder(context.clock).result(message, context)
      return await handle?.(result, message, context)
    },
  })
}
