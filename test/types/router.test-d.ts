// Checked by the compiler alone: each refusal below is an error if the compiler accepts it.
import { z } from 'zod'
import { bytes, json, nullable, router, text, topic } from '../../src/index.ts'

const Paid = z.object({ kind: z.literal('paid'), amount: z.number() })
const Shipped = z.object({ kind: z.literal('shipped'), parcel: z.string() })
const Event = z.discriminatedUnion('kind', [Paid, Shipped])
const events = topic('events', { key: text, value: json(Event) })
const everything = topic('everything', { key: text, value: json(Event) })
const paid = topic('paid', { key: text, value: json(Paid) })
const orTombstones = topic('or-tombstones', { key: text, value: nullable(json(Event)) })
const raw = topic('raw', { value: bytes })
const names = topic('names', { key: text, value: text })
const unkeyed = topic('unkeyed', { key: json(z.number()), value: json(Event) })

router('everything that fits', {
  input: events,
  routes: [
    { when: { headers: (headers) => headers.get('kind') === 'paid' }, to: paid },
    { when: { key: (key) => key.startsWith('a') }, to: everything },
    { when: { value: (value) => value.kind === 'paid' && value.amount > 5 }, to: orTombstones },
  ],
  otherwise: raw,
  concurrency: 8,
  idempotency: { by: 'event-id', id: ({ value }) => value?.toString() },
})

router('no topic otherwise', {
  input: events,
  routes: [{ when: { key: () => true }, to: paid }],
  otherwise: 'drop',
})

router('values of another type', {
  input: events,
  // @ts-expect-error: texts are no events
  routes: [{ when: { key: () => true }, to: names }],
  otherwise: 'drop',
})

router('keys of another type', {
  input: events,
  // @ts-expect-error: numbers are no texts
  routes: [{ when: { key: () => true }, to: unkeyed }],
  otherwise: 'drop',
})

router('otherwise of another type', {
  input: events,
  routes: [{ when: { key: () => true }, to: paid }],
  // @ts-expect-error: texts are no events
  otherwise: names,
})

router('no such word', {
  input: events,
  routes: [{ when: { key: () => true }, to: paid }],
  // @ts-expect-error: neither a topic nor one of the two words
  otherwise: 'forget',
})

router('no such field', {
  input: events,
  // @ts-expect-error: the schema has no such field
  routes: [{ when: { value: (value) => value.price > 1 }, to: paid }],
  otherwise: 'drop',
})

router('a promise', {
  input: events,
  // @ts-expect-error: a promise would always hold
  routes: [{ when: { key: async () => false }, to: paid }],
  otherwise: 'drop',
})
