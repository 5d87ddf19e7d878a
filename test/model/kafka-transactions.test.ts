import { test } from 'node:test'
import { assertBreaks, assertHolds } from './expectations.ts'
import {
  type TransactionFaults,
  type TransactionProtocol,
  transactionMachine,
} from './kafka-transactions.ts'

function twoLanes(
  faults: Partial<TransactionFaults>,
  protocol: Partial<TransactionProtocol> = {},
): ReturnType<typeof transactionMachine> {
  return transactionMachine({ keys: ['K', 'L', 'K'], faults, protocol })
}

test('Kafka transactions hold: a partition given up, a former owner and two kills', () => {
  assertHolds(twoLanes({ revoke: 1, move: 1, kill: 2 }))
})

test('R11: a transaction of all that has finished is repeated from its offset on', () => {
  assertBreaks(twoLanes({ kill: 1 }, { takes: 'all finished' }), {
    kind: 'output twice',
    steps: [/A begins .* m1 and offset 0/, /A commits/, /A is killed/, /B begins .* m1/],
  })
})

test('R11: a partition given up with an open transaction is handled twice by one that does not wait', () => {
  const hasty = { waitsForOpen: false } as const
  assertHolds(twoLanes({ revoke: 2 }, hasty))
  assertBreaks(twoLanes({ revoke: 1 }, { ...hasty, givesUp: 'at once' }), {
    kind: 'output twice',
    steps: [/A begins/, /A gives the partition up/, /B starts at offset 0/, /A commits/],
  })
})

test('R11: a new owner that does not wait for open transactions repeats those of a former one', () => {
  assertHolds(twoLanes({ move: 1 }))
  assertBreaks(twoLanes({ move: 1 }, { waitsForOpen: false }), {
    kind: 'output twice',
    steps: [/A begins/, /moves the partition to B/, /B starts at offset 0/, /A commits/],
  })
})

test('R11: without proof of membership a former owner commits a transaction of its own', () => {
  assertBreaks(twoLanes({ move: 1 }, { provesMembership: false }), {
    kind: 'output twice',
    steps: [/moves the partition to B/, /A begins/, /A commits/],
  })
})
