import type { Command } from 'commander'
import type { Logger } from '../ports/logger.ts'
import type { ExitCode } from './exit-codes.ts'
import type { Output } from './output.ts'
import type { ResolvedSettings } from './settings/resolve-settings.ts'
import type { SettingName } from './settings/settings.ts'

/** What a command is given when it runs. */
export interface Invocation {
  readonly args: readonly string[]
  /** The command's own flags, by camel-case name. Flags of settings are in `settings`. */
  readonly flags: Readonly<Record<string, unknown>>
  readonly settings: ResolvedSettings
  readonly output: Output
  readonly logger: Logger
}

/** A command as `--help` shows it. Declarations are light: the work is imported when the command runs. */
export interface CommandDeclaration {
  readonly name: string
  readonly summary: string
  readonly description: string
  /** Lines for the end of `--help`. */
  readonly examples: readonly string[]
  /** Settings that have a flag here. */
  readonly settings: readonly SettingName[]
  /** Adds arguments and own flags. */
  declare(command: Command): void
  execute(invocation: Invocation): Promise<ExitCode>
}
