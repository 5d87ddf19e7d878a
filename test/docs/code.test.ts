import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { root, runCommand } from '../../scripts/command.ts'
import { type Fence, fencesOf, readPages, withSources } from './markdown.ts'

// How a page says what its TypeScript is:
//   ```ts                 a module of its own, compiled
//   ```ts run             compiled and executed
//   ```ts continue        goes on where the page's last `ts` fence ended
//   ```ts services.ts     a module of that name, which later fences of the page can import

interface Module {
  /** Path below the folder that all of them are written to. */
  readonly path: string
  readonly title: string
  readonly code: string
  readonly isRun: boolean
}

function modulesOf(fences: readonly Fence[]): Module[] {
  const modules: Module[] = []
  for (const { page, line, words, code } of fences) {
    const last = modules.at(-1)
    if (words.includes('continue') && last !== undefined) {
      modules[modules.length - 1] = { ...last, code: `${last.code}\n${code}` }
      continue
    }
    const name = words.find((word) => word.endsWith('.ts')) ?? `line-${line}.ts`
    const path = join(page.replace(/\.md$/, ''), name)
    modules.push({ path, title: `${page}:${line}`, code, isRun: words.includes('run') })
  }
  return modules
}

const pages = await readPages()
const modules = pages.flatMap((page) =>
  modulesOf(fencesOf(page).filter(({ language }) => language === 'ts')),
)
let folder: string

before(async () => {
  // Inside the repository, where the packages that the code imports are found.
  await mkdir(join(root, '.pollux'), { recursive: true })
  folder = await mkdtemp(join(root, '.pollux/docs-'))
  for (const { path, code } of modules) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, withSources(code, path))
  }
  const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false }
  const config = { extends: '../../tsconfig.json', compilerOptions, include: ['**/*.ts'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
})

after(() => rm(folder, { recursive: true, force: true }))

test('the code in the documentation compiles', async () => {
  assert.ok(modules.length > 0, 'no code was found')
  const { code, output } = await runCommand('tsc', ['-p', folder, '--pretty', 'false'])
  assert.equal(code, 0, titled(output))
})

for (const { path, title, isRun } of modules) {
  if (!isRun) continue
  test(`the code at ${title} runs`, async () => {
    const cwd = await mkdtemp(join(folder, 'run-'))
    const { code, output } = await runCommand('node', [join(folder, path)], {
      cwd,
      timeout: 60_000,
    })
    assert.equal(code, 0, output)
  })
}

/** The compiler's output with the places in the pages that it speaks of. */
function titled(output: string): string {
  return modules.reduce(
    (text, { path, title }) => text.replaceAll(path, `${title} (${path})`),
    output,
  )
}
