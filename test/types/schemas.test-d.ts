// Checked by the compiler alone: json() takes the schemas of any library that keeps to Standard Schema.
import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import { json } from '../../src/codecs/json.ts'
import { type MessageOf, topic } from '../../src/topic.ts'
import type { Equal, Expect } from './expect.ts'

interface Order {
  id: string
  amount: number
}

const withZod = topic('zod', { value: json(z.object({ id: z.string(), amount: z.number() })) })
const withValibot = topic('valibot', {
  value: json(v.object({ id: v.string(), amount: v.number() })),
})
const withArktype = topic('arktype', { value: json(type({ id: 'string', amount: 'number' })) })

export type Zod = Expect<Equal<MessageOf<typeof withZod>['value'], Order>>
export type Valibot = Expect<Equal<MessageOf<typeof withValibot>['value'], Order>>
export type Arktype = Expect<Equal<MessageOf<typeof withArktype>['value'], Order>>

// @ts-expect-error: a field is missing
withZod.message({ key: null, value: { id: 'a' } })
// @ts-expect-error: a field is missing
withValibot.message({ key: null, value: { id: 'a' } })
// @ts-expect-error: a field is missing
withArktype.message({ key: null, value: { id: 'a' } })
