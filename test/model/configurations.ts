import * as messages from './messages.ts'
import type { Configuration } from './model.ts'
import { byPosition, keyedStore } from './protocol.ts'

/** Known by their names: what is handled, and what goes wrong. All of them must hold. */
type Configurations = Readonly<Record<string, Configuration>>

/** Those that are explored at each run: up to some ten thousand states each. */
export const smallConfigurations: Configurations = {
  'two keys; a former owner and a kill': {
    messages: messages.twoKeys,
    faults: { move: 1, kill: 1 },
  },
  'one key; two former owners': { messages: messages.oneKey, faults: { move: 2 } },
  'one key; a former owner and a lost answer': {
    messages: messages.oneKey,
    faults: { move: 1, lostAnswer: 1 },
  },
  'one key; a kill and a lost answer': {
    messages: messages.oneKey,
    faults: { kill: 1, lostAnswer: 1 },
  },
  'one key; a former owner and failed sends': {
    messages: messages.oneKey,
    faults: { move: 1, failedSend: 1 },
  },
  'two lanes; a former owner': { messages: messages.twoLanes, faults: { move: 1 } },
  'two lanes; two kills, and the newest output is last': {
    messages: messages.twoLanes,
    faults: { kill: 2 },
    expectsNewestLast: true,
  },
  'two lanes; the window passes, and a kill': {
    messages: messages.twoLanes,
    faults: { cleanUp: 1, kill: 1 },
  },
  'a copy in another lane; a former owner': { messages: messages.copy, faults: { move: 1 } },
  'a copy in another lane; two kills, and the newest output is last': {
    messages: messages.copy,
    faults: { kill: 2 },
    expectsNewestLast: true,
  },
  'a copy in a partition of the same owner; a former owner': {
    messages: messages.copyElsewhere,
    faults: { move: 1 },
  },
  'a copy in a partition of another owner; a kill, and the newest output is last': {
    messages: messages.copyElsewhere,
    owners: [0, 1],
    faults: { kill: 1 },
    expectsNewestLast: true,
  },
  'a value shared by two partitions; a former owner': {
    messages: messages.sharedKey,
    faults: { move: 1 },
  },
  'a value shared by two partitions; two kills': {
    messages: messages.sharedKey,
    faults: { kill: 2 },
  },
  'a value shared by two owners; a kill': {
    messages: messages.sharedKeyAfterTwo,
    owners: [0, 1],
    faults: { kill: 1 },
  },
  'a message that the store refuses; a former owner': {
    messages: messages.poison,
    faults: { move: 1 },
  },
  'a message that the store refuses; two kills': {
    messages: messages.poisonAndOther,
    faults: { kill: 2 },
  },
  'a parked message; a former owner and a kill': {
    messages: messages.parking,
    faults: { move: 1, kill: 1 },
  },
  'a parked message by position; two kills': {
    messages: messages.parkingAndOther,
    faults: { kill: 2 },
    protocol: byPosition,
  },
  'two keys by position; a former owner and a kill': {
    messages: messages.twoKeys,
    faults: { move: 1, kill: 1 },
    protocol: byPosition,
  },
  'two lanes by position; two kills': {
    messages: messages.twoLanes,
    faults: { kill: 2 },
    protocol: byPosition,
  },
  'a database that loses a commit; two kills': {
    messages: messages.oneKey,
    faults: { failOver: 1, kill: 2 },
  },
  'a database that loses a commit; a former owner': {
    messages: messages.oneKey,
    faults: { failOver: 1, move: 1 },
  },
}

/** Other ways to do it that do as well. */
export const alternatives: Configurations = {
  'units of contiguous positions, and no ranges in the ledger; two kills': {
    messages: messages.twoLanes,
    faults: { kill: 2 },
    protocol: { ...byPosition, unit: 'contiguous positions', keepsRanges: false },
  },
  'a conflict over a value that does again what its key had; a kill': {
    messages: messages.sharedKeyAfterTwo,
    owners: [0, 1],
    faults: { kill: 1 },
    protocol: { conflict: 'key' },
  },
  'a conflict over a value that does again what its key had; a former owner': {
    messages: messages.sharedKey,
    faults: { move: 1 },
    protocol: { conflict: 'key' },
  },
  'a conflict over a copy that does again what its key had; a kill': {
    messages: messages.copyElsewhere,
    owners: [0, 1],
    faults: { kill: 1 },
    protocol: { conflict: 'key' },
  },
  'an owner that reads the ledger row after a lost answer; a former owner': {
    messages: messages.oneKey,
    faults: { move: 1, lostAnswer: 1 },
    protocol: { lostAnswer: 'read the row' },
  },
  'a ledger row that is locked first; a frozen owner': {
    messages: messages.oneKey,
    faults: { freeze: 1 },
    protocol: { fence: 'locked at begin' },
  },
  'offsets as soon as the effects are stored; two kills': {
    messages: messages.twoLanes,
    faults: { kill: 2 },
    protocol: { offsetAfter: 'commit' },
  },
  'a unit number without an epoch; a former owner and a kill': {
    messages: messages.twoKeys,
    faults: { move: 1, kill: 1 },
    protocol: { fence: 'none' },
  },
  'a store without transactions over partitions; a former owner': {
    messages: messages.oneKey,
    faults: { move: 1 },
    protocol: keyedStore,
  },
}

/** Hundreds of thousands of states each, and more: minutes of computing. */
export const largeConfigurations: Configurations = {
  'one key; two former owners and a kill': {
    messages: messages.oneKey,
    faults: { move: 2, kill: 1 },
  },
  'two lanes; a former owner and a kill': {
    messages: messages.twoLanes,
    faults: { move: 1, kill: 1 },
  },
  'two lanes; a former owner and a lost answer': {
    messages: messages.twoLanes,
    faults: { move: 1, lostAnswer: 1 },
  },
  'two lanes by position; a former owner': {
    messages: messages.twoLanes,
    faults: { move: 1 },
    protocol: byPosition,
  },
  'a copy in another lane; a former owner and a kill': {
    messages: messages.copy,
    faults: { move: 1, kill: 1 },
  },
  'a value shared by two partitions; a former owner and a kill': {
    messages: messages.sharedKey,
    faults: { move: 1, kill: 1 },
  },
  'a value shared by two partitions; a former owner after two messages': {
    messages: messages.sharedKeyAfterTwo,
    faults: { move: 1 },
  },
  'a message that the store refuses; a former owner': {
    messages: messages.poisonAndOther,
    faults: { move: 1 },
  },
  'a parked message; a former owner': {
    messages: messages.parkingAndOther,
    faults: { move: 1 },
  },
  'a store without transactions over partitions; a former owner and a kill': {
    messages: messages.oneKey,
    faults: { move: 1, kill: 1 },
    protocol: keyedStore,
  },
  'a database that loses a commit; a former owner and a kill': {
    messages: messages.oneKey,
    faults: { failOver: 1, move: 1, kill: 1 },
  },
}
