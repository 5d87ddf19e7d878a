import type { CrashPoint } from './crash-points.ts'

/** Carries, as JSON, what a process is to crash at. */
export const crashVariable = 'POLLUX_CRASH'

/** What a process tells whoever started it, as a line of its standard output. */
export type CrashNote =
  /** It obeys signals. */
  | { readonly state: 'started' }
  /** It has fetched its first records. */
  | { readonly state: 'working' }
  /** It is at the point to crash at. */
  | { readonly state: 'crashed'; readonly point: CrashPoint }

const prefix = 'pollux-crash '

export function noteOf(note: CrashNote): string {
  return `${prefix}${JSON.stringify(note)}\n`
}

/** The note in a line; undefined for a line of something else. */
export function noteIn(line: string): CrashNote | undefined {
  return line.startsWith(prefix) ? (JSON.parse(line.slice(prefix.length)) as CrashNote) : undefined
}
