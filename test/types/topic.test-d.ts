// Checked by the compiler alone: each refusal below is an error if the compiler accepts it.
import { z } from 'zod'
import { nullable } from '../../src/codecs/codec.ts'
import { json } from '../../src/codecs/json.ts'
import { text } from '../../src/codecs/text.ts'
import { type MessageOf, topic } from '../../src/topic.ts'
import type { Equal, Expect } from './expect.ts'

const Order = z.object({ id: z.string(), amount: z.number() })
const orders = topic('orders', { key: text, value: json(Order) })
const prices = topic('prices', { value: nullable(json(z.object({ price: z.number() }))) })
const stamped = topic('stamped', { key: text, value: json(z.object({ at: z.coerce.date() })) })

type OrderMessage = MessageOf<typeof orders>
type PriceMessage = MessageOf<typeof prices>

// A message has the types that its codecs decode.
export type Name = Expect<Equal<OrderMessage['topic'], 'orders'>>
export type Key = Expect<Equal<OrderMessage['key'], string>>
export type Value = Expect<Equal<OrderMessage['value'], { id: string; amount: number }>>
export type DefaultKey = Expect<Equal<PriceMessage['key'], Buffer | null>>
export type Tombstone = Expect<Equal<PriceMessage['value'], { price: number } | null>>
export type Parsed = Expect<Equal<MessageOf<typeof stamped>['value'], { at: Date }>>

// The topic's name tells messages of several topics apart.
export function narrowed(message: OrderMessage | PriceMessage): number | undefined {
  return message.topic === 'orders' ? message.value.amount : message.value?.price
}

orders.message({ key: 'a', value: { id: 'a', amount: 1 } })
orders.message({ key: 'a', value: { id: 'a', amount: 1 }, headers: { tag: ['x', 'y'] } })
prices.message({ key: null, value: null })
stamped.message({ key: 'a', value: { at: '2026-01-01' } })

// @ts-expect-error: a field has another type
orders.message({ key: 'a', value: { id: 'a', amount: '1' } })
// @ts-expect-error: a field is missing
orders.message({ key: 'a', value: { id: 'a' } })
// @ts-expect-error: a field that the schema does not know
orders.message({ key: 'a', value: { id: 'a', amount: 1, currency: 'EUR' } })
// @ts-expect-error: the key has another type
orders.message({ key: 1, value: { id: 'a', amount: 1 } })
// @ts-expect-error: the key is missing
orders.message({ value: { id: 'a', amount: 1 } })
// @ts-expect-error: a tombstone on a topic that knows none
orders.message({ key: 'a', value: null })
// @ts-expect-error: a header that is neither text nor bytes
orders.message({ key: 'a', value: { id: 'a', amount: 1 }, headers: { tag: 1 } })
// @ts-expect-error: no value codec
topic('nothing', { key: text })
// @ts-expect-error: a schema is not a codec
topic('schema', { key: text, value: Order })
