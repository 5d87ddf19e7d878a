import { readFileSync } from 'node:fs'
import pg from 'pg'

/** What a contestant asked of the database from the first message on. */
export interface StatementFigures {
  readonly statements: number
  /** How often it waited for an answer: statements that were pipelined behind others do not count. */
  readonly roundTrips: number
  /** CPU of the server's processes for our connections; undefined when the server is on another machine. */
  readonly serverCpuSeconds: number | undefined
}

/** Watches all connections that this process makes by `pg`, whoever makes them. To be made before the first one. */
export class StatementWatch {
  readonly #clients = new Set<pg.ClientBase>()
  readonly #busy = new WeakSet<pg.ClientBase>()
  #statements = 0
  #roundTrips = 0
  #cpuAtStart: number | undefined

  constructor() {
    const watch = this
    const send = pg.Client.prototype.query as (this: pg.ClientBase, ...args: unknown[]) => unknown
    pg.Client.prototype.query = function (this: pg.ClientBase, ...args: unknown[]): unknown {
      watch.#count(this)
      return send.apply(this, args)
    } as typeof pg.Client.prototype.query
  }

  /** Counts from now on. */
  start(): void {
    this.#statements = 0
    this.#roundTrips = 0
    this.#cpuAtStart = this.#serverCpu()
  }

  /** To be called while the connections are open. */
  figures(): StatementFigures {
    const cpu = this.#serverCpu()
    return {
      statements: this.#statements,
      roundTrips: this.#roundTrips,
      serverCpuSeconds:
        cpu === undefined || this.#cpuAtStart === undefined ? undefined : cpu - this.#cpuAtStart,
    }
  }

  #count(client: pg.ClientBase): void {
    this.#clients.add(client)
    this.#statements += 1
    const isPipelined = (client as unknown as { readonly pipeline: boolean }).pipeline
    if (isPipelined && this.#busy.has(client)) return
    this.#roundTrips += 1
    if (!isPipelined) return
    this.#busy.add(client)
    client.once('drain', () => this.#busy.delete(client))
  }

  #serverCpu(): number | undefined {
    let seconds = 0
    for (const client of this.#clients) {
      const cpu = processCpu((client as unknown as { readonly processID: number }).processID)
      if (cpu === undefined) return undefined
      seconds += cpu
    }
    return seconds
  }
}

// What Linux counts in, whatever the machine.
const ticksPerSecond = 100

/** Seconds of CPU that a PostgreSQL process of this machine has taken, as Linux tells. */
function processCpu(pid: number): number | undefined {
  try {
    const [, after] = readFileSync(`/proc/${pid}/stat`, 'utf8').split('(postgres) ')
    const fields = after?.split(' ')
    if (fields === undefined) return undefined
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  } catch {
    return undefined
  }
}
