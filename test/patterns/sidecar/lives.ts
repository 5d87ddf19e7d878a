import { z } from 'zod'
import {
  json,
  nullable,
  type Service,
  sidecar,
  type Target,
  text,
  topic,
} from '../../../src/index.ts'
import { stopsAtFailure } from '../../stops-at-failure.ts'

const Thing = z.object({
  a: z.string().nullable().optional(),
  b: z.string().optional(),
  revision: z.number(),
})

export const thingsOf = (name: string) => topic(name, { key: text, value: nullable(json(Thing)) })

export const tables = ['plain', 'versioned', 'noted'] as const

/**
 * Sidecars of the same log, each with a table: by its order; by versions in a column; by versions that are noted beside the
 * table. Small batches, so that there are many to die between.
 */
export function feeders(
  name: string,
  targetFor: (table: (typeof tables)[number]) => Target,
): readonly Service[] {
  // Processes end by refused rows, too, and what was refused comes again in the next one.
  const common = {
    ...stopsAtFailure,
    input: thingsOf(name),
    key: { id: ({ key }: { readonly key: string }) => key },
    columns: { a: 'a', b: 'b' },
    batch: 20,
  } as const
  const version = {
    by: 'field',
    of: ({ value }: { readonly value: z.infer<typeof Thing> | null }) => value?.revision,
  } as const
  return [
    sidecar(`${name}-plain`, { ...common, target: targetFor('plain') }),
    sidecar(`${name}-versioned`, {
      ...common,
      target: targetFor('versioned'),
      version: { ...version, column: 'revision' },
    }),
    sidecar(`${name}-noted`, { ...common, target: targetFor('noted'), version }),
  ]
}

/** A row as the tables have it: a, b. */
export type Row = readonly [string | null, string | null]

interface Record {
  readonly key: string
  readonly value: z.infer<typeof Thing> | null
}

/** The straight fold of a log by its order: one message after the other, as its partitions have it. */
export function plainFold(log: readonly Record[]): ReadonlyMap<string, Row> {
  const rows = new Map<string, Row>()
  for (const { key, value } of log) {
    if (value === null) rows.delete(key)
    else rows.set(key, merged(rows.get(key), value))
  }
  return rows
}

/** The same by version; a tombstone says none, and counts as newer than what came before. */
export function versionedFold(log: readonly Record[]): ReadonlyMap<string, Row> {
  const rows = new Map<string, Row>()
  const newest = new Map<string, number>()
  for (const { key, value } of log) {
    if (value === null) rows.delete(key)
    else if (value.revision >= (newest.get(key) ?? 0)) {
      rows.set(key, merged(rows.get(key), value))
      newest.set(key, value.revision)
    }
  }
  return rows
}

function merged(before: Row | undefined, { a, b }: z.infer<typeof Thing>): Row {
  return [a === undefined ? (before?.[0] ?? null) : a, b === undefined ? (before?.[1] ?? null) : b]
}
