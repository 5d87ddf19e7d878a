import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
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

/**
 * The package's own names as the files they are built from, so that nothing has to be built. The module is to lie at
 * `path` in a folder that is two below the repository.
 */
export function withSources(code: string, path: string): string {
  const up = '../'.repeat(join(path).split('/').length + 1)
  return code.replaceAll(/(['"])pollux(\/[\w./-]+)?\1/g, (text, _quote, subpath = '') => {
    const target = (packageJson.exports as Record<string, string | { types: string }>)[
      `.${subpath}`
    ]
    if (typeof target !== 'object') return text
    return `'${target.types.replace('./dist/', `${up}src/`).replace(/\.d\.ts$/, '.ts')}'`
  })
}
