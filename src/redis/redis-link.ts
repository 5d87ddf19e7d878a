import { errorText, PolluxError } from '../errors.ts'
import { script, scriptHash } from './cache-script.ts'
import { loadDriver } from './driver.ts'

interface Times {
  readonly connectTimeout: number
  readonly commandTimeout: number
}

/** As much of a client as is used. */
interface Client {
  sendCommand(args: readonly (string | Buffer)[]): Promise<unknown>
  close(): Promise<void>
  destroy(): void
}

// Out of memory, a replica, starting, its master away, busy with a script, not enough replicas, cannot save: all pass.
const passing = /^(OOM|READONLY|LOADING|MASTERDOWN|BUSY|NOREPLICAS|MISCONF|TRYAGAIN)\b/

/** The connection, which takes itself up again. */
export class RedisLink {
  readonly #name: string
  readonly #client: Client
  readonly #isReply: (error: unknown) => boolean
  readonly #commandTimeout: number

  private constructor(
    name: string,
    client: Client,
    isReply: (error: unknown) => boolean,
    commandTimeout: number,
  ) {
    this.#name = name
    this.#client = client
    this.#isReply = isReply
    this.#commandTimeout = commandTimeout
  }

  /** @throws POLLUX_TARGET_UNREACHABLE */
  static async to(
    name: string,
    url: string,
    { connectTimeout, commandTimeout }: Times,
  ): Promise<RedisLink> {
    const { createClient, ErrorReply } = await loadDriver()
    let hasConnected = false
    const client = createClient({
      url,
      // What cannot be sent now is repeated by us, and would be sent twice.
      disableOfflineQueue: true,
      socket: {
        connectTimeout,
        reconnectStrategy: (retries, cause) =>
          hasConnected ? Math.min(50 * 2 ** Math.min(retries, 10), 2_000) : cause,
      },
    })
    // Told by the command that fails; without a listener it would end the process.
    client.on('error', () => {})
    const isReply = (error: unknown): boolean => error instanceof ErrorReply
    const link = new RedisLink(name, client as unknown as Client, isReply, commandTimeout)
    try {
      await client.connect()
      hasConnected = true
      await client.sendCommand(['PING'])
      return link
    } catch (error) {
      if (client.isOpen) client.destroy()
      throw link.#trouble(error)
    }
  }

  /** Calls the script, loading it where the server does not know it. */
  async callScript(
    keys: readonly string[],
    args: readonly (string | Buffer)[],
  ): Promise<readonly string[]> {
    const rest = [String(keys.length), ...keys, ...args]
    try {
      return (await this.#send(['EVALSHA', scriptHash, ...rest])) as string[]
    } catch (error) {
      if (!this.#isReply(error) || !errorText(error).startsWith('NOSCRIPT'))
        throw this.#trouble(error)
    }
    try {
      return (await this.#send(['EVAL', script, ...rest])) as string[]
    } catch (error) {
      throw this.#trouble(error)
    }
  }

  async close(): Promise<void> {
    try {
      await this.#client.close()
    } catch {
      this.#client.destroy()
    }
  }

  async #send(command: readonly (string | Buffer)[]): Promise<unknown> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const error = new Error(`no answer within ${this.#commandTimeout} ms`)
      timer = setTimeout(() => reject(error), this.#commandTimeout)
    })
    try {
      return await Promise.race([this.#client.sendCommand(command), late])
    } finally {
      clearTimeout(timer)
    }
  }

  #trouble(error: unknown): PolluxError {
    const found = errorText(error)
    return !this.#isReply(error) || passing.test(found)
      ? new PolluxError('POLLUX_TARGET_UNREACHABLE', `${this.#name} cannot be reached now.`, {
          found,
        })
      : new PolluxError('POLLUX_TARGET_FAILED', `${this.#name} refused a request.`, { found })
  }
}
