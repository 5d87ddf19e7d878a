import type { Clock } from './ports/clock.ts'

/** The machine's time. Pending tasks do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    if (ms > 0) {
      const timer = setTimeout(task, ms)
      timer.unref()
      return () => clearTimeout(timer)
    }
    const immediate = setImmediate(task)
    return () => clearImmediate(immediate)
  },
  random: () => Math.random(),
}
