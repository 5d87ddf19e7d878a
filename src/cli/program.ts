import { readFileSync } from 'node:fs'
import { Command, CommanderError, Option } from 'commander'
import { PolluxError } from '../errors.ts'
import type { CommandDeclaration } from './command.ts'
import { consumeCommand } from './commands/consume.ts'
import { explainCommand } from './commands/explain.ts'
import { gateCommand } from './commands/gate.ts'
import { groupCommand } from './commands/group.ts'
import { groupsCommand } from './commands/groups.ts'
import { migrateCommand } from './commands/migrate.ts'
import { produceCommand } from './commands/produce.ts'
import { runCommand } from './commands/run.ts'
import { topicsCommand } from './commands/topics.ts'
import { type ExitName, exitCodes, exitMeanings } from './exit-codes.ts'
import { flagOf, type SettingName, settingsTable, variableOf } from './settings/settings.ts'

/** All commands, in the order of `--help`. */
export const commands: readonly CommandDeclaration[] = [
  runCommand,
  explainCommand,
  migrateCommand,
  gateCommand,
  produceCommand,
  consumeCommand,
  topicsCommand,
  groupsCommand,
  groupCommand,
]

/** What was asked for. Flags of settings are among `flags`. */
export interface Request {
  readonly declaration: CommandDeclaration
  readonly args: readonly string[]
  readonly flags: Readonly<Record<string, unknown>>
}

/**
 * Reads the command line. Undefined when `--help` or `--version` has answered it.
 * @throws POLLUX_OPTION_INVALID for an unknown command or flag, or one without its value.
 */
export function readCommandLine(argv: readonly string[]): Request | undefined {
  let request: Request | undefined
  const program = buildProgram((found) => {
    request = found
  })
  try {
    program.parse(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return undefined
    throw new PolluxError('POLLUX_OPTION_INVALID', usageMessage(error), { hint: hintFor(argv) })
  }
  return request
}

function buildProgram(ask: (request: Request) => void): Command {
  const program = new Command('pollux')
    .description(
      'Runs producer and consumer services on Kafka, or on an embedded broker with nothing to install.',
    )
    .version(ownVersion(), '--version', 'Prints the version.')
    .helpOption('--help', 'Prints this help.')
    .helpCommand(false)
    .addHelpText(
      'after',
      `\nExit codes:\n${exitCodeLines()}\n\nEvery setting is also an environment variable: ${flagOf('bufferBytes')} is ${variableOf('bufferBytes')}.`,
    )
  prepare(program)
  for (const declaration of commands) program.addCommand(buildCommand(declaration, ask))
  program.allowExcessArguments().action(() => {
    const [unknown] = program.args
    const problem =
      unknown === undefined ? 'No command is given.' : `There is no command '${unknown}'.`
    throw new PolluxError('POLLUX_OPTION_INVALID', problem, {
      expected: `one of ${commands.map((command) => command.name).join(', ')}`,
      hint: 'See `pollux --help`.',
    })
  })
  return program
}

function buildCommand(declaration: CommandDeclaration, ask: (request: Request) => void): Command {
  const command = new Command(declaration.name)
    .summary(declaration.summary)
    .description(declaration.description)
    .helpOption('--help', 'Prints this help.')
    .allowExcessArguments(false)
  prepare(command)
  declaration.declare(command)
  for (const name of declaration.settings)
    for (const option of settingFlags(name)) command.addOption(option)
  command.option(
    '--config <file>',
    'The config file. Default: pollux.config.ts in the working folder, if it exists.',
  )
  command.addHelpText(
    'after',
    `\nExamples:\n${declaration.examples.map((line) => `  ${line}`).join('\n')}`,
  )
  command.action(() => {
    ask({ declaration, args: command.args, flags: command.opts() })
  })
  return command
}

/** Errors are thrown and shown by the caller, as those of everything else. */
function prepare(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: () => {} })
}

/** A setting's flags. Their values stay text here: all settings are checked together, whatever their origin. */
function settingFlags(name: SettingName): Option[] {
  const option = settingsTable[name]
  const help =
    option.default === undefined ? option.help : `${option.help} (default: ${option.shownDefault})`
  const positive = new Option(`${flagOf(name)} <${placeholderOf(option.expected)}>`, help)
  const negative = flagOf(name).replace('--', '--no-')
  const embedded = embeddedInstead[name]
  if (embedded !== undefined) return [positive, new Option(negative, embedded)]
  if (typeof option.default !== 'boolean') return [positive]
  return [new Option(flagOf(name), help), new Option(negative, 'The opposite.').hideHelp()]
}

const embeddedInstead: Readonly<Partial<Record<SettingName, string>>> = {
  kafka: 'Uses the embedded broker although the configuration names Kafka.',
  postgres: 'Uses the embedded store although the configuration names PostgreSQL.',
}

function placeholderOf(expected: string): string {
  if (expected.startsWith("'host:port'")) return 'host:port,…'
  if (expected.startsWith("'postgres:")) return 'url'
  if (expected.startsWith('a whole number')) return 'n'
  if (expected.startsWith('a duration')) return 'duration'
  if (expected.startsWith('the path of')) return 'path'
  return 'value'
}

function usageMessage(error: CommanderError): string {
  const [, flag, value] =
    /^error: option '(--\S+) <(.*)>' argument missing/.exec(error.message) ?? []
  if (flag !== undefined) return `${flag} needs a value: ${flag} <${value}>.`
  const text = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?)]$/.test(text) ? '' : '.'}`
}

function hintFor(argv: readonly string[]): string {
  const named = commands.find((command) => command.name === argv[0])
  return named === undefined ? 'See `pollux --help`.' : `See \`pollux ${named.name} --help\`.`
}

function exitCodeLines(): string {
  const names = Object.keys(exitCodes) as ExitName[]
  return names
    .map((name) => `  ${String(exitCodes[name]).padEnd(4)} ${exitMeanings[name]}`)
    .join('\n')
}

function ownVersion(): string {
  // The package's own file lies two folders up from the sources and from the built files alike.
  const file = new URL('../../package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }
  return version
}
