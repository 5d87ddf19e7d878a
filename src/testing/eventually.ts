/** How long `eventually` and `within` wait. */
export interface WaitOptions {
  /** Milliseconds until the wait is given up. Default 30 000. */
  readonly deadline?: number
  /** Milliseconds between two looks. Default 10. */
  readonly every?: number
}

const defaultDeadline = 30_000

/**
 * Waits until `look` gives something other than undefined, null or false, and returns it. `look` may throw while
 * what it looks at is not there yet; the last error is the cause of the rejection after the deadline.
 */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
  { deadline = defaultDeadline, every = 10 }: WaitOptions = {},
): Promise<NonNullable<Exclude<T, false>>> {
  const end = performance.now() + deadline
  let cause: unknown
  for (;;) {
    try {
      const seen = await look()
      if (seen !== undefined && seen !== null && seen !== false)
        return seen as NonNullable<Exclude<T, false>>
      cause = undefined
    } catch (error: unknown) {
      cause = error
    }
    if (performance.now() >= end) {
      throw new Error(
        `Waited ${deadline} ms in vain: ${what}`,
        cause === undefined ? {} : { cause },
      )
    }
    await pause(every)
  }
}

/**
 * Looks again and again for a while, as what must not happen needs time to happen. `look` throws when it is wrong.
 * `duration` in milliseconds; default 250.
 */
export async function holds(look: () => void | Promise<void>, duration = 250): Promise<void> {
  const end = performance.now() + duration
  do {
    await look()
    await pause(10)
  } while (performance.now() < end)
  await look()
}

/** The promise's value, or a rejection after the deadline. */
export async function within<T>(
  what: string,
  promise: Promise<T>,
  deadline: number = defaultDeadline,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${deadline} ms in vain: ${what}`)), deadline)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
