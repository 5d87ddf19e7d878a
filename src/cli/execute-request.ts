import type { ExitCode } from './exit-codes.ts'
import { createLogger } from './logger.ts'
import type { Output } from './output.ts'
import type { Request } from './program.ts'
import { loadConfig } from './settings/load-config.ts'
import { resolveSettings } from './settings/resolve-settings.ts'

/** Reads the configuration and does what was asked for. */
export async function executeRequest(
  { declaration, args, flags }: Request,
  output: Output,
): Promise<ExitCode> {
  const environment = process.env
  const named =
    (flags['config'] as string | undefined) ?? (environment['POLLUX_CONFIG'] || undefined)
  const config = await loadConfig(named, process.cwd())
  const settings = resolveSettings({ flags, environment, config })
  const isQuiet = declaration.name !== 'run' && settings.origins.logLevel === 'default'
  const logger = createLogger({
    level: isQuiet ? 'warn' : settings.settings.logLevel,
    pretty: process.stderr.isTTY === true,
    worker: environment['POLLUX_WORKER'],
  })
  // Workers have the environment of the process that started them; it has said so already.
  if (environment['POLLUX_WORKER'] === undefined) {
    for (const warning of settings.warnings) logger.warn({}, warning)
  }
  return declaration.execute({ args, flags, settings, output, logger })
}
