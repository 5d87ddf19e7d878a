import { Child } from '../../crash/child-process.ts'
import type { Plan, Seen } from './http-server-process.ts'

/** An HTTP service in a process of its own. */
export class HttpService implements AsyncDisposable {
  readonly process: Child
  readonly url: string

  private constructor(process: Child, port: string) {
    this.process = process
    this.url = `http://127.0.0.1:${port}`
  }

  /** @param port default: a free one */
  static async start(port?: number): Promise<HttpService> {
    const child = new Child('patterns/delegate/http-server-process.ts', { port })
    const line = await child.says(/^port \d+$/)
    return new HttpService(child, line.slice(5))
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /** Tells it how to answer. */
  async plan(plan: Plan): Promise<void> {
    await fetch(`${this.url}/plan`, { method: 'POST', body: JSON.stringify(plan) })
  }

  /** The calls that it has got, and how many of them had an effect. */
  async seen(): Promise<{ readonly seen: readonly Seen[]; readonly effects: number }> {
    const response = await fetch(`${this.url}/seen`)
    return (await response.json()) as { seen: Seen[]; effects: number }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill()
  }
}
