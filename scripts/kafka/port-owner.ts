import { readdir, readFile, readlink } from 'node:fs/promises'

/** Which process listens on a TCP port, as text; Linux only, `another program` where it cannot be told. */
export async function portOwner(port: number): Promise<string> {
  try {
    const sockets = await listeningSockets(port)
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/.test(pid)) continue
      const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
      for (const file of files) {
        const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => '')
        if (sockets.has(target)) return `process ${pid} (${await programOf(pid)})`
      }
    }
  } catch {
    // No /proc: not Linux.
  }
  return 'another program'
}

async function listeningSockets(port: number): Promise<Set<string>> {
  const found = new Set<string>()
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(table, 'utf8').catch(() => '')
    for (const line of text.split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
      // 0A is LISTEN.
      if (state === '0A' && Number.parseInt(local.split(':')[1] ?? '', 16) === port)
        found.add(`socket:[${inode}]`)
    }
  }
  return found
}

/** The name alone: arguments may hold secrets. */
async function programOf(pid: string): Promise<string> {
  return (await readFile(`/proc/${pid}/comm`, 'utf8')).trim()
}
