import { type Duration, milliseconds } from './duration.ts'
import { PolluxError, shown } from './errors.ts'
import { nearName } from './near-name.ts'

/**
 * One option, declared once: its check, its default, and the help from which `--help` and `docs/options.md` follow.
 * `read` takes the typed value or its text (environment and flags are text) and returns undefined for a wrong one.
 */
export interface Option<Value> {
  readonly help: string
  readonly expected: string
  readonly default: Value
  /** How `--help` and the documentation write the default. */
  readonly shownDefault: string
  read(given: unknown): Value | undefined
}

/** The options of one object. */
export type OptionTable<Values> = { readonly [Name in keyof Values]: Option<Values[Name]> }

interface Declared<Value> {
  readonly default: Value
  readonly help: string
}

/** A whole number within bounds. */
export function integer(
  given: Declared<number> & { readonly min: number; readonly max: number },
): Option<number> {
  return {
    help: given.help,
    default: given.default,
    shownDefault: String(given.default),
    expected: `a whole number from ${given.min} to ${given.max}`,
    read(value) {
      const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
      if (typeof number !== 'number' || !Number.isInteger(number)) return undefined
      return number >= given.min && number <= given.max ? number : undefined
    },
  }
}

/** A length of time, read into milliseconds. */
export function duration(given: {
  readonly default: Duration
  readonly help: string
  readonly min?: Duration
  readonly max?: Duration
}): Option<number> {
  const min = milliseconds(given.min ?? 0)
  // Node's timers overflow above 2^31 - 1 ms and would fire at once.
  const max = milliseconds(given.max ?? '24d')
  return {
    help: given.help,
    default: milliseconds(given.default),
    shownDefault: String(given.default),
    expected: `a duration such as '30s' from ${given.min ?? '0ms'} to ${given.max ?? '24d'}`,
    read(value) {
      const text = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
      try {
        const ms = milliseconds(text as Duration)
        return ms >= min && ms <= max ? ms : undefined
      } catch {
        return undefined
      }
    },
  }
}

/** An option that may be left out; `shownDefault` says what that means. */
export function withoutDefault<Value>(
  option: Option<Value>,
  shownDefault: string,
): Option<Value | undefined> {
  return { ...option, default: undefined, shownDefault }
}

/** One of a closed list of words. */
export function oneOf<const Word extends string>(
  given: Declared<Word> & { readonly words: readonly Word[] },
): Option<Word> {
  return {
    help: given.help,
    default: given.default,
    shownDefault: given.default,
    expected: given.words.map((word) => `'${word}'`).join(' or '),
    read: (value) => given.words.find((word) => word === value),
  }
}

/** Yes or no. */
export function yesNo(given: Declared<boolean>): Option<boolean> {
  return {
    help: given.help,
    default: given.default,
    shownDefault: String(given.default),
    expected: 'true or false',
    read(value) {
      if (value === true || value === 'true' || value === '1') return true
      return value === false || value === 'false' || value === '0' ? false : undefined
    },
  }
}

/** A text without line breaks; without a default it may be left out. */
export function text<Value extends string | undefined>(given: Declared<Value>): Option<Value> {
  return {
    help: given.help,
    default: given.default,
    shownDefault: given.default ?? 'none',
    expected: 'a text that is not empty, on one line',
    read: (value) =>
      typeof value === 'string' && value.trim() !== '' && !/[\r\n]/.test(value)
        ? (value as Value)
        : undefined,
  }
}

/** Collects what is wrong, so that everything can be said at once. */
export class Problems {
  readonly #found: string[]
  readonly #prefix: string

  constructor(found: string[] = [], prefix = '') {
    this.#found = found
    this.#prefix = prefix
  }

  add(problem: string): void {
    this.#found.push(this.#prefix + problem)
  }

  /** For the options of an object among the options: what is wrong there is said under its name. */
  within(name: string): Problems {
    return new Problems(this.#found, `${this.#prefix}${name}.`)
  }

  get count(): number {
    return this.#found.length
  }

  /** @throws POLLUX_OPTION_INVALID with every problem, when there is one. */
  throwIfAny(what: string): void {
    if (this.#found.length === 0) return
    const [first = ''] = this.#found
    const list =
      this.#found.length === 1
        ? first
        : `\n${this.#found.map((problem) => `  - ${problem}`).join('\n')}`
    throw new PolluxError('POLLUX_OPTION_INVALID', `${what}: ${list}`)
  }
}

/** The problem of a name that no option has. `label` is how the problem names it. */
export function unknownOption(
  name: string,
  known: readonly string[],
  label: string = name,
): string {
  const near = nearName(name, known)
  const question = near === undefined ? '' : `; did you mean ${near}?`
  return `${label}: unknown option${question}${question === '' ? ';' : ''} known are ${known.join(', ')}`
}

/** @throws POLLUX_OPTION_INVALID when what a caller gave as options is no object. */
export function checkObject(what: string, given: unknown, expected: string): void {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return
  throw new PolluxError('POLLUX_OPTION_INVALID', `${what} needs its options.`, {
    expected,
    found: shown(given),
  })
}

/** Notes the methods of `port` that are missing, or that it is no object at all. */
export function checkMethods(
  name: string,
  port: unknown,
  methods: readonly string[],
  expected: string,
  problems: Problems,
): void {
  if (typeof port !== 'object' || port === null) {
    return problems.add(`${name}: expected ${expected}, found ${shown(port)}`)
  }
  const missing = methods.filter(
    (method) => typeof (port as Record<string, unknown>)[method] !== 'function',
  )
  if (missing.length > 0) {
    problems.add(`${name}: expected ${expected}, found an object without ${missing.join(', ')}`)
  }
}

/**
 * Reads `given` by its table: defaults for what is missing, a problem for what is wrong or unknown. `others` are the
 * names of the same object that the caller has read itself.
 */
export function readOptions<Values extends object>(
  table: OptionTable<Values>,
  given: object,
  problems: Problems,
  others: readonly string[] = [],
): Values {
  const names = Object.keys(table) as (keyof Values & string)[]
  const read = {} as { [Name in keyof Values]: Values[Name] }
  for (const name of names) {
    const value = (given as Record<string, unknown>)[name]
    read[name] =
      value === undefined ? table[name].default : readOne(name, table[name], value, problems)
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(table, name)) problems.add(unknownOption(name, [...others, ...names]))
  }
  return read
}

/** Reads the options inside an option. */
export function readInside<Values extends object>(
  name: string,
  table: OptionTable<Values>,
  given: unknown,
  problems: Problems,
): Values {
  const inside = problems.within(name)
  if (given === undefined || (typeof given === 'object' && given !== null))
    return readOptions(table, given ?? {}, inside)
  problems.add(
    `${name}: expected an object with ${Object.keys(table).join(', ')}, found ${shown(given)}`,
  )
  return readOptions(table, {}, inside)
}

function readOne<Value>(
  name: string,
  option: Option<Value>,
  value: unknown,
  problems: Problems,
): Value {
  const read = option.read(value)
  if (read !== undefined) return read
  problems.add(`${name}: expected ${option.expected}, found ${shown(value)}`)
  return option.default
}
