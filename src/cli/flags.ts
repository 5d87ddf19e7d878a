import { shown } from '../errors.ts'
import type { Option } from '../options.ts'
import { Problems } from '../options.ts'
import { flagOf } from './settings/settings.ts'

/**
 * Reads a command's own flags by their declarations, all problems at once; a flag that is not given is undefined.
 * @throws POLLUX_OPTION_INVALID
 */
export function readFlags<Values extends object>(
  table: {
    readonly [Name in keyof Values & string]: Pick<Option<Values[Name]>, 'expected' | 'read'>
  },
  flags: Readonly<Record<string, unknown>>,
): { readonly [Name in keyof Values]: Values[Name] | undefined } {
  const problems = new Problems()
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(table) as (keyof Values & string)[]) {
    const given = flags[name]
    if (given === undefined) continue
    values[name] = table[name].read(given)
    if (values[name] === undefined) {
      problems.add(`${flagOf(name)}: expected ${table[name].expected}, found ${shown(given)}`)
    }
  }
  problems.throwIfAny('The command line is wrong')
  return values as { readonly [Name in keyof Values]: Values[Name] | undefined }
}

/** Names with commas between. */
export const nameList: Pick<Option<readonly string[]>, 'expected' | 'read'> = {
  expected: 'names with commas between',
  read(value) {
    const names = String(value)
      .split(',')
      .map((name) => name.trim())
    return names.includes('') ? undefined : names
  },
}
