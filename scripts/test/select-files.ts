import { matchesGlob } from 'node:path'
import type { Part } from './parts.ts'

/** A part with the files that belong to it. */
export interface Selected {
  readonly part: Part
  readonly files: readonly string[]
}

/** What `selectFiles` found. */
export interface Selection {
  readonly selected: readonly Selected[]
  /** What is wrong with the division into parts, or with what was asked for. */
  readonly problems: readonly string[]
}

/**
 * Divides test files (paths below `test/`) into parts. `wanted` holds names of parts and paths of files; empty means
 * all. A file in no part or in two is a problem, so that none is silently forgotten.
 */
export function selectFiles(
  parts: readonly Part[],
  files: readonly string[],
  wanted: readonly string[],
): Selection {
  const owners = new Map(files.map((file) => [file, parts.filter((part) => isIn(part, file))]))
  const problems = [...owners].flatMap(([file, owning]) => problemOf(file, owning))
  const isWanted = (part: Part, file: string): boolean =>
    wanted.length === 0 || wanted.includes(part.name) || wanted.includes(`test/${file}`)
  const selected = parts.map((part) => ({
    part,
    files: files.filter((file) => owners.get(file)?.[0] === part && isWanted(part, file)),
  }))
  const names = parts.map(({ name }) => name)
  for (const name of wanted) {
    if (names.includes(name) || files.some((file) => name === `test/${file}`)) continue
    problems.push(`'${name}' is neither a part nor a test file. Parts: ${names.join(', ')}.`)
  }
  return { selected: selected.filter((one) => one.files.length > 0), problems }
}

function isIn(part: Part, file: string): boolean {
  return part.files.some((glob) => matchesGlob(file, glob))
}

function problemOf(file: string, owners: readonly Part[]): string[] {
  if (owners.length === 1) return []
  const found = owners.length === 0 ? 'none' : owners.map(({ name }) => name).join(' and ')
  return [
    `test/${file} must belong to one part, and belongs to ${found}; see scripts/test/parts.ts.`,
  ]
}
