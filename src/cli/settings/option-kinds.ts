import { readFileSync } from 'node:fs'
import type { Option } from '../../options.ts'
import { isConnectionString } from '../../postgres/options.ts'

/** An option that may be left out: the same check, no default. */
export function optional<Value>(option: Option<Value>): Option<Value | undefined> {
  return { ...option, default: undefined, shownDefault: 'none' }
}

const address = /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+):(\d{1,5})$/

/** Broker addresses: `host:port`, several with commas or as a list; false (`--no-kafka`) is an empty list. */
export function brokerList(given: {
  readonly help: string
}): Option<readonly string[] | undefined> {
  return {
    help: given.help,
    default: undefined,
    shownDefault: 'none',
    expected: "'host:port', several with commas between",
    read(value) {
      if (value === false) return []
      const list = typeof value === 'string' ? value.split(',').map((part) => part.trim()) : value
      if (!Array.isArray(list) || list.length === 0) return undefined
      return list.every(isAddress) ? list : undefined
    },
  }
}

function isAddress(value: unknown): value is string {
  const port = typeof value === 'string' ? address.exec(value)?.[1] : undefined
  return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535
}

/** The address of a PostgreSQL database; false (`--no-postgres`) is an empty text. */
export function databaseUrl(given: { readonly help: string }): Option<string | undefined> {
  return {
    help: given.help,
    default: undefined,
    shownDefault: 'none',
    expected: "'postgres://user@host:5432/database'",
    read(value) {
      if (value === false) return ''
      return isConnectionString(value) ? value : undefined
    },
  }
}

/** The content of a text file, read from its path. */
export function fileContent(given: { readonly help: string }): Option<string | undefined> {
  return {
    help: given.help,
    default: undefined,
    shownDefault: 'none',
    expected: 'the path of a file that can be read',
    read(value) {
      if (typeof value !== 'string') return undefined
      try {
        return readFileSync(value, 'utf8')
      } catch {
        return undefined
      }
    },
  }
}
