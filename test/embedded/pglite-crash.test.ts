import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually, within } from '../../src/testing/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'pollux-crash-'))
const childFile = fileURLToPath(new URL('pglite-crash-child.ts', import.meta.url))
const rounds = 15
/** Milliseconds. A new database takes seconds, more on a busy machine. */
const deadline = 120_000
const children: ChildProcess[] = []

class Committer {
  readonly process: ChildProcess
  readonly lines: string[] = []
  readonly #gone: Promise<unknown>

  constructor(folder: string) {
    const child = spawn(process.execPath, [childFile, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    this.process = child
    this.#gone = once(child, 'close')
    createInterface(child.stdout).on('line', (line) => this.lines.push(line))
  }

  async saysLines(count: number): Promise<void> {
    await eventually(`${count} lines`, () => this.lines.length >= count || this.#hasEnded(), {
      deadline,
      every: 1,
    })
    assert.ok(!this.#hasEnded(), `the process goes on; it said ${this.lines.at(-1)}`)
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await within('the end of the process', this.#gone)
  }

  #hasEnded(): boolean {
    return this.process.exitCode !== null
  }
}

function numberIn(line: string | undefined): number {
  return Number(/\d+$/.exec(line ?? '')?.[0])
}

describe('the PGlite store and kill -9', () => {
  after(() => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(root, { recursive: true })
  })

  it(`loses no committed unit in ${rounds} kills during commits, and tears none`, async (t) => {
    const folder = join(root, 'commits')
    let acknowledged = 0
    for (let round = 0; round < rounds; round += 1) {
      const committer = new Committer(folder)
      await committer.saysLines(1)
      const start = committer.lines[0] ?? ''
      assert.match(start, /^start \d+$/)
      // One more may have been committed than was said: the kill came before the answer.
      const isKept = [acknowledged, acknowledged + 1].includes(numberIn(start))
      assert.ok(isKept, `round ${round}: ${acknowledged} units were acknowledged, found '${start}'`)
      await committer.saysLines(2 + Math.floor(Math.random() * 80))
      await committer.kill()
      acknowledged = numberIn(committer.lines.at(-1))
    }
    t.diagnostic(`${acknowledged} units in ${rounds} rounds`)
  })

  it('opens a folder whose first owner was killed while it made the database', async () => {
    const folder = join(root, 'creation')
    for (const stage of ['pglite.new', 'pglite/PG_VERSION']) {
      const first = new Committer(folder)
      await eventually(stage, () => existsSync(join(folder, stage)), { deadline, every: 1 })
      await first.kill()
      assert.deepEqual(first.lines, [], 'it was killed before it was ready')
    }
    const last = new Committer(folder)
    await last.saysLines(2)
    assert.equal(last.lines[0], 'start 0')
    await last.kill()
    assert.ok(!existsSync(join(folder, 'pglite.new')))
  })
})
