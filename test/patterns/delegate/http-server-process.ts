// An HTTP service as the world has them. `POST /plan` tells it how to answer which question: a list of answers, used up
// one after the other; without one, and after the last, it answers 200. `POST /ask` is a call, whose body is the question;
// an idempotency key has its effect once. `GET /seen` lists the calls. Prints `port …`.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

/** One answer. */
export interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Retry-After as a date so many milliseconds from when it answers. */
  readonly dateIn?: number
  /** Milliseconds before it answers; the effect has happened by then. */
  readonly delay?: number
  /** The process ends instead. */
  readonly dies?: boolean
}

export type Plan = Readonly<Record<string, readonly Answer[]>>

/** One call that came. */
export interface Seen {
  readonly question: string
  readonly idempotencyKey: string
  /** Milliseconds since 1970. */
  readonly at: number
}

const plan = new Map<string, Answer[]>()
const seen: Seen[] = []
const effects = new Set<string>()

const server = createServer((request, response) => {
  void (async () => {
    const body = await text(request)
    if (request.url === '/plan') {
      for (const [question, answers] of Object.entries(JSON.parse(body) as Plan))
        plan.set(question, [...answers])
      return response.end()
    }
    if (request.url === '/seen')
      return response.end(JSON.stringify({ seen, effects: effects.size }))
    const question = JSON.parse(body) as string
    const idempotencyKey = String(request.headers['idempotency-key'])
    seen.push({ question, idempotencyKey, at: Date.now() })
    const answer = plan.get(question)?.shift() ?? {}
    if (answer.dies === true) process.exit(1)
    if ((answer.status ?? 200) < 300) effects.add(idempotencyKey)
    setTimeout(() => {
      if (answer.dateIn !== undefined)
        response.setHeader('retry-after', new Date(Date.now() + answer.dateIn).toUTCString())
      response.writeHead(answer.status ?? 200, answer.headers)
      response.end(JSON.stringify(`${question}!`))
    }, answer.delay ?? 0)
  })()
})
server.listen(Number(JSON.parse(process.argv[2] ?? '{}').port ?? 0), '127.0.0.1', () => {
  const address = server.address()
  console.log(`port ${typeof address === 'object' ? address?.port : address}`)
})
