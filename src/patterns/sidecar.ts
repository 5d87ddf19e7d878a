import { shown } from '../errors.ts'
import { checkMethods, checkObject, Problems, readOptions } from '../options.ts'
import { type BatchResult, defineService, type Service, type Uses } from '../service.ts'
import { type ServiceOptions, serviceOptionNames } from '../service-options.ts'
import type { AnyTopic, MessageOf } from '../topic.ts'
import type { SidecarByHand, SidecarDefinition } from './sidecar/definition.ts'
import { Feeding } from './sidecar/feeding.ts'
import { readMapping } from './sidecar/mapping.ts'
import { sidecarOptions } from './sidecar/options.ts'

/**
 * A service that keeps a table or a cache of another system up to date, without a change to that system. It writes in
 * batches, and commits no offset before the rows are written; while the target is away it waits and stays in its group.
 * With `apply` in the place of `target`, it is your own SQL that writes, in the transaction of the store.
 * @throws POLLUX_OPTION_INVALID listing all that is wrong.
 */
export function sidecar<
  const I extends AnyTopic,
  // biome-ignore lint/complexity/noBannedTypes: nothing is asked for
  const U extends Uses = {},
>(name: string, definition: SidecarDefinition<I> | SidecarByHand<I, U>): Service {
  checkObject('sidecar()', definition, '{ input, target, key, columns } or { input, apply, uses }')
  const problems = new Problems()
  return definition.apply !== undefined
    ? byHand(name, definition, problems)
    : declared(name, definition, problems)
}

function byHand<I extends AnyTopic, U extends Uses>(
  name: string,
  { input, apply, target, batch, ...rest }: SidecarByHand<I, U>,
  problems: Problems,
): Service {
  if (typeof apply !== 'function')
    problems.add(`apply: expected a function of the message, found ${shown(apply)}`)
  for (const [option, given] of Object.entries({ target, batch }))
    if (given !== undefined)
      problems.add(`${option}: expected none beside apply, which writes one message at a time`)
  problems.throwIfAny(`Sidecar ${shown(name)} is wrong`)
  return defineService<readonly I[], readonly [], never, never, U>(name, {
    ...rest,
    inputs: inputsOf(input),
    handle: apply,
  })
}

function declared<I extends AnyTopic>(
  name: string,
  definition: SidecarDefinition<I>,
  problems: Problems,
): Service {
  const { input, target } = definition
  const inputs = inputsOf(input)
  const [own, ofService] = split(definition)
  const settings = readOptions(sidecarOptions, own, problems, [
    ...serviceOptionNames,
    ...definitionNames,
  ])
  const mapping = readMapping(definition, inputs, problems)
  checkMethods('target', target, ['check', 'rows'], 'a target such as postgresTable({…})', problems)
  problems.throwIfAny(`Sidecar ${shown(name)} is wrong`)
  const shape = mapping.shape(name, settings)
  target.check(shape, (problem) => problems.add(problem))
  problems.throwIfAny(`Sidecar ${shown(name)} is wrong`)
  const rows = target.rows(shape)
  const feeding = new Feeding(mapping, rows, settings)
  return defineService<readonly I[]>(name, {
    ...ofService,
    inputs,
    opens: [rows],
    handleMany: (messages, context) =>
      feeding.feed(messages, context) as Promise<BatchResult<MessageOf<I>, never>>,
  })
}

const definitionNames = ['input', 'target', 'key', 'columns', 'version', 'groups']

function inputsOf<I extends AnyTopic>(input: I | readonly I[]): readonly I[] {
  return Array.isArray(input) ? (input as readonly I[]) : [input as I]
}

/** Plain options of the sidecar, and those of any service. */
function split(definition: object): readonly [object, ServiceOptions] {
  const given = Object.entries(definition).filter(([name]) => !definitionNames.includes(name))
  const isOfService = ([option]: [string, unknown]): boolean => serviceOptionNames.includes(option)
  return [
    Object.fromEntries(given.filter((entry) => !isOfService(entry))),
    Object.fromEntries(given.filter(isOfService)),
  ]
}
