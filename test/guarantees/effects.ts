/** What a handler has written down about an event, in the order of its key where there is one. */
export interface Effect {
  readonly key: string
  /** The input's value. */
  readonly value: string
  readonly owner: string
  /** When its handler began, in milliseconds since 1970 by its process. */
  readonly started: number
}

/** Reads what `serviceOf` keeps as state. */
export function effectsIn(key: string, state: string): Effect[] {
  return state.split(' ').map((effect) => {
    const [value = '', owner = '', started = ''] = effect.split('/')
    return { key, value, owner, started: Number(started) }
  })
}
