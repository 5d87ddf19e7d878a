import { z } from 'zod'
// In a project of your own this line reads: … from 'pollux'
import { delegate, httpCall, json, type Service, text, topic } from '../../src/index.ts'

const create = { partitions: 4 }

/** What customers write, by the ticket's number. Whoever edits a ticket sends it again, with the next revision. */
export const tickets = topic('tickets', {
  key: text,
  value: json(z.object({ text: z.string(), revision: z.int() })),
  create,
})

const Label = z.object({ subject: z.string(), probability: z.number() })

/** What each ticket is about, by its number. */
export const labels = topic('ticket-labels', {
  key: text,
  value: json(Label.extend({ revision: z.int() })),
  create,
})

/** Asks the model at this address about up to sixteen tickets at once. */
export function labelTickets(model: string): Service {
  return delegate('label-tickets', {
    input: tickets,
    outputs: [labels],
    callMany: (messages, context) =>
      httpCall(context, {
        url: `${model}/subjects`,
        body: messages.map(({ value }) => value.text),
        response: json(z.array(Label)),
      }),
    handle: (label, { key, value: { revision } }) =>
      labels.message({ key, value: { ...label, revision } }),
    batch: { size: 16, wait: '20ms' },
    timeLimit: '1s',
    rateLimit: { calls: 20, per: '1s', burst: 5 },
    // A model that is away costs no ticket, however long it takes.
    attempts: 'endless',
    breaker: { window: 20, calls: 10, pause: '250ms', longestPause: '2s' },
    // The label of an older text never replaces that of a newer one.
    idempotency: { by: 'version', of: ({ value }) => value.revision },
    // Equal texts have equal subjects.
    cache: { by: ({ value }) => value.text },
  })
}
