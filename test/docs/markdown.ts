import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../../scripts/command.ts'

/** A page of the documentation. */
export interface Page {
  /** Path below the repository. */
  readonly path: string
  readonly text: string
}

/** A piece of code between two lines of three backticks. */
export interface Fence {
  readonly page: string
  /** Line of its first line of code, counted from 1. */
  readonly line: number
  /** `ts`, `sh`, … */
  readonly language: string
  /** The words behind the language: `run`, `continue`, or a file name. */
  readonly words: readonly string[]
  readonly code: string
}

/** Everything that readers of the project read. */
export async function readPages(): Promise<Page[]> {
  const paths = await Array.fromAsync(
    glob(['*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: root }),
  )
  return Promise.all(
    paths
      .toSorted()
      .map(async (path) => ({ path, text: await readFile(join(root, path), 'utf8') })),
  )
}

/** The fences of a page in their order. */
export function fencesOf({ path, text }: Page): Fence[] {
  const fences: Fence[] = []
  const fence = /^( *)```(\w+)([^\n`]*)\n([\s\S]*?)^\1```\s*$/gm
  for (const {
    index,
    1: indent = '',
    2: language = '',
    3: info = '',
    4: code = '',
  } of text.matchAll(fence)) {
    fences.push({
      page: path,
      line: text.slice(0, index).split('\n').length + 1,
      language,
      words: info.trim().split(/\s+/).filter(Boolean),
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    })
  }
  return fences
}
