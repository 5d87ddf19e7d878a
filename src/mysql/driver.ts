import { errorText, PolluxError } from '../errors.ts'

/** The driver: `mysql2` with promises. */
export type Driver = typeof import('mysql2/promise')

/** Loads the driver. @throws POLLUX_DRIVER_MISSING */
export async function loadDriver(): Promise<Driver> {
  try {
    return await import('mysql2/promise')
  } catch (cause: unknown) {
    throw new PolluxError('POLLUX_DRIVER_MISSING', 'MySQL and MariaDB need the package mysql2.', {
      found: errorText(cause),
      hint: 'Install it: npm install mysql2',
      cause,
    })
  }
}
