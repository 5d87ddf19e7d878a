import assert from 'node:assert/strict'
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type FolderLock, lockFolder } from '../../src/embedded/folder-lock.ts'
import { PolluxError } from '../../src/errors.ts'
import { within } from '../../src/testing/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'pollux-lock-'))
const childFile = fileURLToPath(new URL('folder-lock-child.ts', import.meta.url))
const children: ChildProcessByStdio<Writable, Readable, null>[] = []
let count = 0

function newFolder(): string {
  count += 1
  return join(root, `folder-${count}`)
}

interface Contender {
  readonly process: ChildProcessByStdio<Writable, Readable, null>
  /** `locked`, or the code of the error. */
  readonly answer: string
  /** Gives `collected`. */
  collectGarbage(): Promise<string>
}

async function contend(folder: string, name = 'data'): Promise<Contender> {
  const child = spawn(process.execPath, ['--expose-gc', childFile, folder, name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  const lines = createInterface(child.stdout)
  const line = async (): Promise<string> => {
    const [text] = await within('a line', once(lines, 'line'))
    return String(text)
  }
  return {
    process: child,
    answer: await line(),
    collectGarbage() {
      child.stdin.write('collect')
      return line()
    },
  }
}

async function end({ process: child }: Contender, signal?: NodeJS.Signals): Promise<void> {
  const gone = once(child, 'exit')
  if (signal === undefined) child.stdin.end()
  else child.kill(signal)
  await within('the end of the process', gone)
}

function refusal(run: () => FolderLock): PolluxError {
  try {
    run().release()
  } catch (error) {
    assert.ok(PolluxError.is(error))
    return error
  }
  assert.fail('the folder was locked twice')
}

describe('the lock of a folder', () => {
  after(() => {
    // After a failure some may still be there.
    for (const child of children) child.kill('SIGKILL')
    rmSync(root, { recursive: true })
  })

  it('makes the folder where it is missing', () => {
    lockFolder(join(newFolder(), 'deep', 'down'), 'data').release()
  })

  it('is refused to another part of this process, which is told so', () => {
    const folder = newFolder()
    const lock = lockFolder(folder, 'data')
    const error = refusal(() => lockFolder(folder, 'data'))
    assert.equal(error.code, 'POLLUX_FOLDER_LOCKED')
    assert.match(error.message, /That is this process: close the other store first/)
    lock.release()
  })

  it('is refused to another process, which is told the folder, the process and what to do', async () => {
    const folder = newFolder()
    const holder = await contend(folder)
    assert.equal(holder.answer, 'locked')
    const error = refusal(() => lockFolder(folder, 'data'))
    assert.equal(error.code, 'POLLUX_FOLDER_LOCKED')
    assert.ok(error.message.includes(folder))
    assert.ok(error.message.includes(`process ${holder.process.pid} on ${hostname()}`))
    assert.match(error.message, /Stop that process, or give this one another folder\./)
    await end(holder)
  })

  it('is still held after another one was refused', async () => {
    const folder = newFolder()
    const holder = await contend(folder)
    refusal(() => lockFolder(folder, 'data'))
    refusal(() => lockFolder(folder, 'data'))
    const third = await contend(folder)
    assert.equal(third.answer, 'POLLUX_FOLDER_LOCKED')
    await end(third)
    await end(holder)
  })

  it('is free after release, which may be called again', async () => {
    const folder = newFolder()
    const lock = lockFolder(folder, 'data')
    lock.release()
    lock.release()
    const next = await contend(folder)
    assert.equal(next.answer, 'locked')
    await end(next)
  })

  it('is not given up by a late second release of an earlier holder', () => {
    const folder = newFolder()
    const first = lockFolder(folder, 'data')
    first.release()
    const second = lockFolder(folder, 'data')
    first.release()
    assert.equal(refusal(() => lockFolder(folder, 'data')).code, 'POLLUX_FOLDER_LOCKED')
    second.release()
  })

  it('is free after its holder exited without a release', async () => {
    const folder = newFolder()
    await end(await contend(folder))
    lockFolder(folder, 'data').release()
  })

  it('is free after its holder was killed', async () => {
    const folder = newFolder()
    await end(await contend(folder), 'SIGKILL')
    lockFolder(folder, 'data').release()
  })

  it('is not held by a process that was given the number of a dead holder', () => {
    const folder = newFolder()
    lockFolder(folder, 'data').release()
    // What a killed holder leaves behind, with a number that lives again: that of the parent
    // process.
    const holder = { pid: process.ppid, host: hostname() }
    writeFileSync(join(folder, 'data.pid'), JSON.stringify(holder))
    lockFolder(folder, 'data').release()
  })

  it('goes to exactly one of several processes that race for a dead holder’s folder', async () => {
    for (let round = 0; round < 3; round += 1) {
      const folder = newFolder()
      await end(await contend(folder), 'SIGKILL')
      const all = await Promise.all(Array.from({ length: 4 }, () => contend(folder)))
      const answers = all.map(({ answer }) => answer).sort()
      assert.deepEqual(answers, [...Array(3).fill('POLLUX_FOLDER_LOCKED'), 'locked'])
      await Promise.all(all.map((one) => end(one)))
    }
  })

  it('is kept for as long as the process lives, even if nobody refers to it', async () => {
    const folder = newFolder()
    const holder = await contend(folder)
    assert.equal(await holder.collectGarbage(), 'collected')
    assert.equal(refusal(() => lockFolder(folder, 'data')).code, 'POLLUX_FOLDER_LOCKED')
    await end(holder)
  })

  it('of one name leaves other names free', () => {
    const folder = newFolder()
    const one = lockFolder(folder, 'one')
    lockFolder(folder, 'two').release()
    one.release()
  })

  it('is refused with the reason where a file stands in the way', () => {
    const file = join(root, 'file')
    writeFileSync(file, '')
    const error = refusal(() => lockFolder(file, 'data'))
    assert.equal(error.code, 'POLLUX_FOLDER_INVALID')
    assert.ok(error.message.includes(file))
  })
})
