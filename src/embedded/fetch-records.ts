import type { RawMessage } from '../message.ts'
import type { TopicPartition } from '../ports/broker.ts'
import type { LogEntry, LogReads } from './log-storage.ts'

/** A reading position that moves as records are fetched. */
export interface Cursor extends TopicPartition {
  position: number
}

/** Bytes a fetch stops at, so that a great `max` does not fill the memory. One record is always let through. */
const mostBytes = 16 * 1024 * 1024
/** Records read at once at first; a chunk's bytes are known only after it was read. */
const firstChunk = 32
const largestChunk = 500

/**
 * At most `max` records, from each cursor in turn. `missed` is told when a cursor stands before the log's first
 * record, and says where it goes on.
 */
export function fetchRecords(
  log: LogReads,
  cursors: readonly Cursor[],
  max: number,
  missed: (cursor: Cursor, earliest: number) => number,
): RawMessage[] {
  const records: RawMessage[] = []
  let bytes = 0
  for (const cursor of cursors) {
    const { topic, partition } = cursor
    while (records.length < max && bytes < mostBytes) {
      const wanted = Math.min(max - records.length, nextChunk(records.length, bytes))
      let entries = log.read({ topic, partition }, cursor.position, wanted)
      if (entries[0]?.offset !== cursor.position) {
        // Nothing here, or a gap: only what retention removed leaves one.
        const { earliest } = log.range({ topic, partition })
        if (cursor.position >= earliest) break
        cursor.position = missed(cursor, earliest)
        entries = log.read({ topic, partition }, cursor.position, wanted)
      }
      for (const entry of entries) {
        records.push({ topic, partition, ...entry })
        bytes += size(entry)
        cursor.position = entry.offset + 1
        if (bytes >= mostBytes) break
      }
      if (entries.length < wanted) break
    }
  }
  return records
}

/** The next fetch starts with another partition, so that a full one does not starve the rest. */
export function rotate<C extends Cursor>(cursors: C[]): void {
  const first = cursors.shift()
  if (first !== undefined) cursors.push(first)
}

/** As many as are likely to fit, by the size of those before. */
function nextChunk(count: number, bytes: number): number {
  if (count === 0) return firstChunk
  const fitting = Math.ceil((mostBytes - bytes) / Math.max(1, bytes / count))
  return Math.min(fitting, largestChunk)
}

function size({ key, value, headers }: LogEntry): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0)
  for (const header of headers) bytes += header.name.length + (header.value?.length ?? 0)
  return bytes
}
