/**
 * What a service may ask for beyond its message: a name that a store answers to, and the type of what the handler is
 * given. A definition imports the token, not a connection; `run` connects the two.
 */
export interface Capability<T> {
  readonly name: string
  /** Never there: it carries the type. */
  readonly type?: T
}

/** What a handler is given for `uses`: for each name its capability's own type. */
export type Granted<Uses extends Readonly<Record<string, Capability<unknown>>>> = {
  readonly [Name in keyof Uses]: Uses[Name] extends Capability<infer T> ? T : never
}

/** Declares a capability. For authors of stores. */
export function capability<T>(name: string): Capability<T> {
  return { name }
}
