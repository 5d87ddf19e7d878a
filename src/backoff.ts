import { duration, type OptionTable } from './options.ts'

/** How waits between tries grow, in milliseconds. */
export interface BackoffSettings {
  readonly base: number
  readonly max: number
}

export const backoffOptions: OptionTable<BackoffSettings> = {
  base: duration({
    default: '200ms',
    min: '1ms',
    help:
      'Waits between two tries are a random part of this, doubled with each try ("full jitter"). Too low: what ' +
      'stumbles is overrun.',
  }),
  max: duration({ default: '30s', min: '1ms', help: 'The longest of these waits.' }),
}

/**
 * Milliseconds to wait after so many failed tries (from 1).
 * @param random from 0 to 1
 */
export function backoffWait(
  { base, max }: BackoffSettings,
  failures: number,
  random: number,
): number {
  return random * Math.min(max, base * 2 ** Math.min(failures - 1, 30))
}
