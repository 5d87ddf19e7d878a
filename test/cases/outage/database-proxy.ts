import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { server as database } from '../../postgres/server.ts'

/**
 * What becomes of connections: `pass` all is well; `refuse` nobody listens; `reset` taken up and cut at once; `stall`
 * nothing comes through, in either direction; `deaf` the server hears everything, and its answers are lost.
 */
export type Weather = 'pass' | 'refuse' | 'reset' | 'stall' | 'deaf'

/** Stands between a service and the server, and makes trouble on the way. */
export class DatabaseProxy {
  readonly #server: Server
  /** The server behind it; PostgreSQL unless another is given. */
  readonly #behind: Pick<typeof database, 'host' | 'port'>
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  /** The names of prepared statements that commit. */
  readonly #commits = new Set<string>()
  #weather: Weather = 'pass'
  #toLose = 0
  #port = 0
  /** Connections that were asked for. */
  asked = 0
  /** Commits that were done and whose answer was lost. */
  lost = 0

  constructor(behind: Pick<typeof database, 'host' | 'port'> = database) {
    this.#behind = behind
    this.#server = createServer((socket) => this.#take(socket))
  }

  get port(): number {
    return this.#port
  }

  async open(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  async turn(weather: Weather): Promise<void> {
    const wasShut = this.#weather === 'refuse'
    this.#weather = weather
    if (weather === 'refuse') {
      if (!wasShut) this.#server.close()
    } else if (wasShut) await this.open()
    // What comes after silence cannot be in the middle of what was before.
    if (weather !== 'stall' && weather !== 'deaf') this.cut()
  }

  /** Cuts all connections that are there. */
  cut(): void {
    for (const [client, upstream] of this.#pairs) {
      client.resetAndDestroy()
      upstream.destroy()
    }
    this.#pairs.clear()
  }

  /** The answers of the next commits are lost, and their connections with them. */
  loseCommits(count: number): void {
    this.#toLose = count
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  #take(client: Socket): void {
    this.asked += 1
    client.on('error', () => {})
    if (this.#weather === 'reset') {
      client.resetAndDestroy()
      return
    }
    const upstream = connect(this.#behind.port, this.#behind.host)
    upstream.on('error', () => {})
    const pair = [client, upstream] as const
    this.#pairs.add(pair)
    let isLosing = false
    client.on('data', (chunk) => {
      if (this.#weather === 'stall') return
      // Looked at always: a statement that is prepared now is called by its name later.
      const isCommit = this.#isCommit(chunk)
      isLosing ||= isCommit && this.#toLose > 0
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (this.#weather === 'stall' || this.#weather === 'deaf') return
      if (!isLosing || this.#toLose === 0) return void client.write(chunk)
      isLosing = false
      this.#toLose -= 1
      this.lost += 1
      client.resetAndDestroy()
    })
    client.on('close', () => {
      // A server behind a dead line does not hear that its client has gone.
      if (this.#weather === 'stall' || this.#weather === 'deaf') return
      upstream.destroy()
      this.#pairs.delete(pair)
    })
    upstream.on('close', () => {
      if (this.#weather === 'stall' || this.#weather === 'deaf') return
      client.destroy()
      this.#pairs.delete(pair)
    })
  }

  /** Units are committed by one statement that is prepared under a name, or by `commit`. */
  #isCommit(chunk: Buffer): boolean {
    const text = chunk.toString('latin1')
    const prepared = /(pollux_[0-9a-f]{32})\0select [^\0]*\.pollux_commit_1\(/.exec(text)?.[1]
    if (prepared !== undefined) this.#commits.add(prepared)
    return text.includes('commit\0') || [...this.#commits].some((name) => text.includes(name))
  }
}
