import { Effects, Partition, Work } from '../../src/engine/partition.ts'
import { bytes, topic } from '../../src/index.ts'
import type { RawMessage } from '../../src/message.ts'
import type { LedgerRow } from '../../src/ports/store.ts'

const input = topic('input', { value: bytes })

/** A partition of the topic `input`, as it is after it was assigned. */
export function partitionOf(index = 0, ledger: Partial<LedgerRow> = {}): Partition {
  return new Partition(input, index, ledger.next ?? 0, ledger.next ?? 0, '', {
    topic: input.name,
    partition: index,
    topicId: '',
    epoch: 1,
    unit: 0,
    next: 0,
    settled: [],
    unpublished: [],
    ...ledger,
  })
}

/** A record of the topic `input`. */
export function rawOf(
  partition: number,
  offset: number,
  fields: Partial<RawMessage> = {},
): RawMessage {
  return {
    topic: input.name,
    partition,
    offset,
    timestamp: 0,
    key: Buffer.from('k'),
    value: Buffer.from('v'),
    headers: [],
    ...fields,
  }
}

/** A fetched message. Those of a partition are to be made in the order of their offsets. */
export function workOf(
  partition: Partition,
  offset: number,
  fields: Partial<RawMessage> = {},
): Work {
  return new Work(rawOf(partition.partition, offset, fields), partition, new Effects(offset))
}
