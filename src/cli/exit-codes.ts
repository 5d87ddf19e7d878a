import { type ErrorCode, PolluxError } from '../errors.ts'

/** What the exit code of `pollux` says. `docs/cli.md` shows the same table; a test compares the two. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  aborted: 3,
  deadline: 4,
  unreachable: 5,
  crashed: 6,
  interrupted: 130,
} as const

export type ExitName = keyof typeof exitCodes
export type ExitCode = (typeof exitCodes)[ExitName]

export const exitMeanings: { readonly [Name in ExitName]: string } = {
  ok: 'Done; after a stop: everything begun was finished.',
  failed: 'The command failed, or a partition of a service stopped.',
  usage: 'The command line, the configuration or the module is wrong.',
  aborted: 'Stopped, but work was cut off at the drain timeout or by a second signal.',
  deadline: 'Stopping took longer than the stop timeout, and the process was ended.',
  unreachable: 'The broker or the store did not answer.',
  crashed: 'An error that nothing caught ended the process.',
  interrupted: 'A signal ended a command before it was through.',
}

const special: Partial<Record<ErrorCode, ExitCode>> = {
  POLLUX_OPTION_INVALID: exitCodes.usage,
  POLLUX_DURATION_INVALID: exitCodes.usage,
  POLLUX_SETTING_REFUSED: exitCodes.usage,
  POLLUX_MODULE_INVALID: exitCodes.usage,
  POLLUX_DRIVER_MISSING: exitCodes.usage,
  POLLUX_BROKER_UNREACHABLE: exitCodes.unreachable,
  POLLUX_STORE_UNREACHABLE: exitCodes.unreachable,
  POLLUX_STOP_TIMEOUT: exitCodes.deadline,
}

/** The exit code for what a command threw. */
export function exitCodeOf(error: unknown): ExitCode {
  if (!PolluxError.is(error)) return exitCodes.crashed
  return special[error.code] ?? exitCodes.failed
}

// What needs a person most comes last.
const bySeverity: readonly ExitName[] = [
  'ok',
  'interrupted',
  'aborted',
  'deadline',
  'unreachable',
  'crashed',
  'usage',
  'failed',
]

/** The most serious of several exit codes; an unknown code counts as a crash. */
export function worstExitCode(codes: Iterable<number>): ExitCode {
  let worst = 0
  for (const code of codes) {
    const rank = bySeverity.findIndex((name) => exitCodes[name] === code)
    worst = Math.max(worst, rank === -1 ? bySeverity.indexOf('crashed') : rank)
  }
  return exitCodes[bySeverity[worst] ?? 'crashed']
}
