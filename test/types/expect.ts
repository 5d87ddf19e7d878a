/** True only for the very same type. */
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** An error where the argument is not true. */
export type Expect<T extends true> = T
