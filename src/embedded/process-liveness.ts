import { readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Session } from './log-storage.ts'

/** What process numbers are relative to: the machine, and its container when there is one. */
export const processHost: string = `${hostname()} ${pidNamespace()}`.trim()

/**
 * True when a session's process has certainly ended, so that nobody has to wait for the timeout. A process that was
 * stopped, or one whose number was given to another, is not seen here; the timeout finds it.
 */
export function isProcessGone({ pid, host }: Session): boolean {
  if (host !== processHost) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error: unknown) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
