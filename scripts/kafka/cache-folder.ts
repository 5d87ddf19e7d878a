import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where large things that are made once are kept: `POLLUX_CACHE`, else `pollux` in the user's cache folder. */
export function cacheFolder(): string {
  const own = process.env['POLLUX_CACHE']
  if (own !== undefined && own !== '') return own
  const base = process.env['XDG_CACHE_HOME']
  return join(base !== undefined && base !== '' ? base : join(homedir(), '.cache'), 'pollux')
}
