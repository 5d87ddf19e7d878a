/** The error and what lies below it, outermost first. */
export function* causesOf(error: unknown): Generator<object> {
  let one = error
  // A cause may be its own cause.
  for (let depth = 0; depth < 10 && typeof one === 'object' && one !== null; depth += 1) {
    yield one
    one = (one as { cause?: unknown }).cause
  }
}
