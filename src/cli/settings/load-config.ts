import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { errorText, PolluxError, shown } from '../../errors.ts'

/** A config file as it was found; nothing of it is checked yet. */
export interface LoadedConfig {
  /** As the user would write it. */
  readonly path: string
  readonly values: Readonly<Record<string, unknown>>
}

const defaultNames = ['pollux.config.ts', 'pollux.config.js', 'pollux.config.mjs']

/**
 * Loads the named config file, or the one in the working folder when there is one.
 * @throws POLLUX_OPTION_INVALID when the named file is missing, or a file does not load or has no default export.
 */
export async function loadConfig(
  named: string | undefined,
  folder: string,
): Promise<LoadedConfig | undefined> {
  const path = named ?? defaultNames.find((name) => existsSync(resolve(folder, name)))
  if (path === undefined) return undefined
  const full = resolve(folder, path)
  if (!existsSync(full)) {
    throw new PolluxError('POLLUX_OPTION_INVALID', 'The config file is missing.', {
      found: `no file ${full}`,
    })
  }
  const values = await defaultExport(full, path)
  if (typeof values === 'object' && values !== null && !Array.isArray(values)) {
    return { path, values: values as Record<string, unknown> }
  }
  throw new PolluxError('POLLUX_OPTION_INVALID', `The config file ${path} has no configuration.`, {
    expected: 'a default export that is an object',
    found: shown(values),
    hint: 'Write `export default defineConfig({ … })`.',
  })
}

async function defaultExport(full: string, path: string): Promise<unknown> {
  try {
    const loaded = (await import(pathToFileURL(full).href)) as { readonly default?: unknown }
    return loaded.default
  } catch (cause) {
    if (PolluxError.is(cause)) throw cause
    throw new PolluxError('POLLUX_OPTION_INVALID', `The config file ${path} cannot be loaded.`, {
      found: errorText(cause),
      cause,
    })
  }
}
