import { createHash } from 'node:crypto'
import type { Known } from './fold.ts'

/** What is noted of a row, as the database keeps it. */
export function notedText(known: Known): string {
  return JSON.stringify(
    known.map(({ version, position: { topic, partition, offset } }) => [
      // Exactly, and with its type: numbers of 2^53 and more are bigints.
      version === undefined ? null : `${version}${typeof version === 'bigint' ? 'n' : ''}`,
      topic,
      partition,
      String(offset),
    ]),
  )
}

/** The reverse; undefined when nothing is noted yet. */
export function readNoted(text: string): Known | undefined {
  if (text === '') return undefined
  const groups = JSON.parse(text) as [string | null, string, number, string][]
  return groups.map(([version, topic, partition, offset]) => ({
    version: version === null ? undefined : readVersion(version),
    position: { topic, partition, offset: BigInt(offset) },
  }))
}

function readVersion(text: string): number | bigint {
  return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text)
}

/** A row's name of one length, as an index wants it. */
export function rowHash(row: string): Buffer {
  return createHash('sha256').update(row).digest()
}
