import { chanceOf } from '../../../src/testing/crash/chance.ts'
import { type CrashProcess, eventually } from '../../../src/testing/index.ts'
import type { GateProof } from './prove-gate-once.ts'
import type { Publications } from './publications.ts'

/** In how many parts the books come out; at the end of each but the last somebody dies. */
const parts = 16

/**
 * Members work through what there is: whenever a further part of the books is out, one of them is killed and started
 * again; before the last part, all of them at once. Resolves to how many were killed.
 */
export async function dieAtWork(
  { books, seed, signal, deadline = 60_000 }: GateProof,
  starters: readonly (() => CrashProcess)[],
  publications: Publications,
): Promise<number> {
  const chance = chanceOf(seed)
  const processes = starters.map((start) => start())
  let killed = processes.length
  const isOut = async (count: number): Promise<boolean> => {
    await publications.check()
    return publications.books >= count
  }
  try {
    for (let part = 1; part < parts; part += 1) {
      const count = Math.floor((books * part) / parts)
      const what = `${count} books are out`
      await eventually(what, () => signal?.aborted === true || isOut(count), { deadline })
      signal?.throwIfAborted()
      const victim = Math.floor(chance() * processes.length)
      await processes[victim]?.kill()
      processes[victim] = starters[victim]?.() as CrashProcess
      killed += 1
    }
  } finally {
    await Promise.all(processes.map((process) => process.kill()))
  }
  return killed
}
