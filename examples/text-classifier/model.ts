// The heavy work elsewhere: a classifier behind HTTP, in a process of its own. `POST /subjects` takes a list of texts and
// gives each one's subject. `POST /behave` takes a list of how the next calls are answered, one after the other; after that all
// is well again. `GET /calls` lists those that came. Prints its address; the port may be given.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { classify } from './classify.ts'

/** How a call is answered. */
export interface Behaviour {
  /** Default 200. */
  readonly status?: number
  /** Retry-After in so many seconds; `asDate`: as the date of then. */
  readonly retryAfter?: number
  readonly asDate?: boolean
  /** Milliseconds before the answer. */
  readonly delay?: number
}

/** A call that came: when, in milliseconds since 1970, what for, and how it was answered. */
export interface Call {
  readonly at: number
  readonly texts: readonly string[]
  readonly status: number
}

let behaviours: Behaviour[] = []
const calls: Call[] = []

const server = createServer((request, response) => {
  void answer(request, response)
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/calls') return void response.end(JSON.stringify(calls))
  const body = await json(request)
  if (request.url === '/behave') {
    behaviours = body as Behaviour[]
    return void response.end()
  }
  const { status = 200, retryAfter, asDate, delay = 0 } = behaviours.shift() ?? {}
  calls.push({ at: Date.now(), texts: body as string[], status })
  await setTimeout(delay)
  if (retryAfter !== undefined) {
    const date = new Date(Date.now() + retryAfter * 1_000)
    response.setHeader('retry-after', asDate === true ? date.toUTCString() : String(retryAfter))
  }
  response.writeHead(status)
  response.end(status === 200 ? JSON.stringify((body as string[]).map(classify)) : '')
}

server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const address = server.address()
  if (typeof address === 'object') console.log(`http://127.0.0.1:${address?.port}`)
})
