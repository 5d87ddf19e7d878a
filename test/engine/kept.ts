/** The same thing, but closing it does nothing: for what outlives the runtime that it is given to. */
export function kept<T extends object>(given: T): T {
  return new Proxy(given, {
    get: (target, name) => {
      if (name === 'close') return async () => {}
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
