import { errorText, PolluxError } from '../errors.ts'

/** The driver: `pg`, as it comes from its CommonJS module. */
export type Driver = typeof import('pg')['default']

/** Loads the driver. @throws POLLUX_DRIVER_MISSING */
export async function loadDriver(): Promise<Driver> {
  try {
    const module = await import('pg')
    return module.default
  } catch (cause: unknown) {
    throw new PolluxError('POLLUX_DRIVER_MISSING', 'The PostgreSQL store needs the package pg.', {
      found: errorText(cause),
      hint: 'Install it: npm install pg',
      cause,
    })
  }
}
