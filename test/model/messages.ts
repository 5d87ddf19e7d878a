import { inPartition, type Message } from './model.ts'

/** Inputs that are small and have something to go wrong. Each letter pair is a key and an event id. */
export const oneKey: readonly Message[] = inPartition(0, ['K', 'a'], ['K', 'b'])
export const twoKeys: readonly Message[] = inPartition(0, ['K', 'a'], ['L', 'b'])
/** m1 can finish before m0, and m2 has to wait for m0. */
export const twoLanes: readonly Message[] = inPartition(0, ['K', 'a'], ['L', 'b'], ['K', 'c'])
/** m2 is a copy of m0, in another lane. */
export const copy: readonly Message[] = inPartition(0, ['K', 'a'], ['K', 'b'], ['L', 'a'])
/** m2 is a copy of m0, in another partition. */
export const copyElsewhere: readonly Message[] = [
  ...inPartition(0, ['K', 'a'], ['K', 'b']),
  ...inPartition(1, ['L', 'a']),
]
/** Both change the same value. */
export const sharedKey: readonly Message[] = [
  ...inPartition(0, ['K', 'a']),
  ...inPartition(1, ['K', 'b']),
]
export const sharedKeyAfterTwo: readonly Message[] = [
  ...inPartition(0, ['K', 'a'], ['K', 'b']),
  ...inPartition(1, ['K', 'c']),
]
/** The store refuses m0. */
export const poison: readonly Message[] = inPartition(0, ['K', 'a', 'poison'], ['K', 'b'])
export const poisonAndOther: readonly Message[] = inPartition(
  0,
  ['K', 'a', 'poison'],
  ['L', 'b'],
  ['K', 'c'],
)
/** m0 has to be parked, and m1 to wait behind it. */
export const parking: readonly Message[] = inPartition(0, ['K', 'a', 'parking'], ['K', 'b'])
export const parkingAndOther: readonly Message[] = inPartition(
  0,
  ['K', 'a', 'parking'],
  ['K', 'b'],
  ['L', 'c'],
)
