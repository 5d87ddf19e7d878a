/** `npm run` and a terminal both pass on one Ctrl-C: what comes this soon after is the same signal again. In ms. */
const echo = 200

/** What the first and every later SIGINT or SIGTERM do. */
export interface SignalPair {
  first(signal: string): void
  second(signal: string): void
}

/** Watches SIGINT and SIGTERM from now on. Returns what ends the watch. */
export function watchSignalPair({ first, second }: SignalPair): () => void {
  let last = Number.NEGATIVE_INFINITY
  let isFirst = true
  const onSignal = (signal: string): void => {
    const now = performance.now()
    const isEcho = now - last < echo
    last = now
    if (isEcho) return
    if (isFirst) first(signal)
    else second(signal)
    isFirst = false
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return () => {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}

/** For a command that may end between two steps: `signal` is aborted by the first, `onSecond` called by the second. */
export interface StopSignals {
  readonly signal: AbortSignal
  /** Gives the signals back to the system. */
  [Symbol.dispose](): void
}

/** Begins to watch. */
export function watchStopSignals(onSecond: () => void): StopSignals {
  const controller = new AbortController()
  const end = watchSignalPair({ first: () => controller.abort(), second: onSecond })
  return { signal: controller.signal, [Symbol.dispose]: end }
}
