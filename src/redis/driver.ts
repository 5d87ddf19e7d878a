import { errorText, PolluxError } from '../errors.ts'

/** The driver: `@redis/client`. */
export type Driver = typeof import('@redis/client')

/** Loads the driver. @throws POLLUX_DRIVER_MISSING */
export async function loadDriver(): Promise<Driver> {
  try {
    return await import('@redis/client')
  } catch (cause: unknown) {
    throw new PolluxError('POLLUX_DRIVER_MISSING', 'Redis needs the package @redis/client.', {
      found: errorText(cause),
      hint: 'Install it: npm install @redis/client',
      cause,
    })
  }
}
