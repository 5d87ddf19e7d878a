import { PolluxError } from '../../errors.ts'
import { duration, integer } from '../../options.ts'
import { type GateState, type Gates, gates, isGate } from '../../patterns/gate/gates.ts'
import type { Service } from '../../service.ts'
import type { Invocation } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { nameList, readFlags } from '../flags.ts'
import { withStore } from '../open-store.ts'
import { loadServices, selectServices } from '../run/load-services.ts'
import { gateJson, gateSentence, gateText, waitingTable } from './gate-text.ts'

interface GateFlags {
  only: readonly string[]
  waitingFor: string
  olderThan: number
  limit: number
}

const flagTable = {
  only: nameList,
  waitingFor: { expected: 'the name of a fact', read: (value: unknown) => String(value) },
  olderThan: duration({ max: '3650d', default: 0, help: '' }),
  limit: integer({ min: 1, max: 1_000_000_000, default: 100, help: '' }),
}

/** A gate of the module, and what was found in its table. */
export interface Found {
  readonly gate: string
  readonly table: string
  readonly states: readonly GateState[]
  /** Whether more wait than were asked for. */
  readonly isCut: boolean
}

/** `pollux gate list|show|explain <module> [key]` */
export async function executeGate(invocation: Invocation): Promise<ExitCode> {
  const { args, settings, output } = invocation
  const flags = readFlags<GateFlags>(flagTable, invocation.flags)
  const [action, path = '', key] = args
  checkUsage(invocation)
  const services = gatesOf(await loadServices(path, process.cwd()), flags.only, path)
  const found = await withStore(settings, (store) =>
    store.read(async (db) => {
      const all: Found[] = []
      // One transaction takes one statement at a time.
      for (const service of services)
        all.push(await look(service.name, gates(service, db), key, flags))
      return all
    }),
  )
  if (key !== undefined && found.every(({ states }) => states.length === 0))
    throw unknownKey(key, found)
  const now = Date.now()
  if (invocation.flags['json'] === true) {
    await output.write(found.map((one) => gateJson(one, now)).join(''))
  } else if (action === 'list') {
    await output.write(waitingTable(found, now))
  } else {
    const text = action === 'show' ? gateText : gateSentence
    const texts = found.flatMap((one) => one.states.map((state) => text(one, state, now)))
    await output.write(texts.join('\n'))
  }
  return exitCodes.ok
}

async function look(
  gate: string,
  looking: Gates,
  key: string | undefined,
  {
    waitingFor,
    olderThan,
    limit = 100,
  }: { readonly [Name in keyof GateFlags]: GateFlags[Name] | undefined },
): Promise<Found> {
  const { table } = looking
  if (key !== undefined) {
    const state = await looking.find(key)
    return { gate, table, states: state === undefined ? [] : [state], isCut: false }
  }
  const states = await looking.waiting({
    limit: limit + 1,
    ...(waitingFor === undefined ? {} : { missing: waitingFor }),
    ...(olderThan === undefined ? {} : { olderThan }),
  })
  return { gate, table, states: states.slice(0, limit), isCut: states.length > limit }
}

/** A key for show and explain, and filters for list alone. */
function checkUsage({ args, flags }: Invocation): void {
  const [action = '', , key] = args
  const filters = ['waitingFor', 'olderThan', 'limit'].filter((name) => flags[name] !== undefined)
  const hint = 'See `pollux gate --help`.'
  if (action === 'list' && key !== undefined)
    throw new PolluxError('POLLUX_OPTION_INVALID', 'pollux gate list takes no key.', { hint })
  if (action !== 'list' && key === undefined)
    throw new PolluxError('POLLUX_OPTION_INVALID', `pollux gate ${action} needs a key.`, { hint })
  if (action !== 'list' && filters.length > 0)
    throw new PolluxError(
      'POLLUX_OPTION_INVALID',
      '--waiting-for, --older-than and --limit go with pollux gate list.',
      { hint },
    )
}

function gatesOf(
  services: readonly Service[],
  only: readonly string[] | undefined,
  path: string,
): readonly Service[] {
  const found = selectServices(services, only).filter(isGate)
  if (found.length > 0) return found
  throw new PolluxError('POLLUX_OPTION_INVALID', `The module ${path} exports no gate.`, {
    expected: 'at least one export made by gate()',
    found: `the services ${services.map(({ name }) => `'${name}'`).join(', ')}`,
  })
}

function unknownKey(key: string, found: readonly Found[]): PolluxError {
  const where = found.map(({ gate, table }) => `${gate} (${table})`).join(', ')
  return new PolluxError('POLLUX_OPTION_INVALID', `The key '${key}' is unknown to ${where}.`, {
    hint: 'None of its facts has come, or it was forgotten. `pollux gate list` shows the gates that wait.',
  })
}
