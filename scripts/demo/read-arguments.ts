import { parseArgs } from 'node:util'
import { errorText } from '../../src/errors.ts'
import { nearName } from '../../src/near-name.ts'

/** What the demo is asked to do. */
export interface DemoArguments {
  readonly kafka: boolean
  readonly port: number
  /** Undefined: the one that goes with the broker. */
  readonly folder: string | undefined
  readonly reset: boolean
  readonly check: boolean
  readonly help: boolean
}

const options = {
  kafka: { type: 'boolean', default: false },
  port: { type: 'string', default: '9092' },
  folder: { type: 'string' },
  reset: { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** Reads the arguments, or says in one line what is wrong with them. */
export function readArguments(args: readonly string[]): DemoArguments | string {
  try {
    const { port, folder, ...flags } = parseArgs({ args: [...args], options }).values
    if (folder === '') return "Option '--folder <value>' argument missing."
    if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
      return `--port: expected a whole number from 1 to 65535, found '${port}'.`
    return { ...flags, folder, port: Number(port) }
  } catch (error) {
    return parseProblem(errorText(error))
  }
}

/** Node's own text is right in its first sentence and beside the point in what follows. */
function parseProblem(text: string): string {
  const [sentence = ''] = text.split(/\.\s|\n/)
  const unknown = /^Unknown option '--?([^']*)'/.exec(sentence)?.[1]
  const near = unknown === undefined ? undefined : nearName(unknown, Object.keys(options))
  return `${sentence.replace(/\.$/, '')}.${near === undefined ? '' : ` Did you mean --${near}?`}`
}
