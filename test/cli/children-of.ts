import { readdirSync, readFileSync } from 'node:fs'

interface ProcessRow {
  readonly pid: number
  readonly parent: number
}

/** The pids of a process's children, from /proc. */
export function childrenOf(parent: number): number[] {
  return readProcesses()
    .filter((row) => row.parent === parent)
    .map(({ pid }) => pid)
}

/** Whether a process is there and not merely waiting for its parent to notice its end. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

function readProcesses(): ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const status = readFileSync(`/proc/${name}/status`, 'utf8')
        return [{ pid: Number(name), parent: Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) }]
      } catch {
        return []
      }
    })
}
