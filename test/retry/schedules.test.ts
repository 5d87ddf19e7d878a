import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { letterHeaders } from '../../src/dead-letter/headers.ts'
import { embeddedBroker, sharedMemory } from '../../src/embedded/index.ts'
import { defineService, text, topic } from '../../src/index.ts'
import {
  areSettled,
  eventually,
  ManualClock,
  MemoryStoreData,
  memoryStore,
  messagesOf,
  sendTo,
  type TestRuntime,
  testRuntime,
} from '../../src/testing/index.ts'
import { deadLettersOf } from './dead-letters.ts'

const input = topic('input', { key: text, value: text, create: { partitions: 3 } })
const output = topic('output', { key: text, value: text, create: { partitions: 1 } })

/** How often its handler fails; one that never works is permanent, or fails at each attempt. */
type Plan = 0 | 1 | 2 | 'permanent' | 'always'
const plans = fc.constantFrom<Plan>(0, 0, 0, 1, 2, 'permanent', 'always')

const schedule = fc.record({
  messages: fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), plan: plans }), {
    minLength: 1,
    maxLength: 30,
  }),
  /** What happens between steps of time: a member joins or stops. */
  events: fc.array(fc.constantFrom('join', 'stop', 'wait', 'wait'), { maxLength: 12 }),
  kind: fc.constantFrom('key', 'partition', 'batch', 'storeless', 'transaction'),
})

test('whatever fails, joins and stops: nothing is lost, keys keep their order, effects are once, and dead letters are those that never work', async () => {
  await fc.assert(
    fc.asyncProperty(schedule, async ({ messages, events, kind }) => {
      const clock = new ManualClock()
      const memory = sharedMemory()
      const data = new MemoryStoreData()
      const left = messages.map(({ plan }) => plan)
      const fail = (value: string): void => {
        const index = Number(value)
        const plan = left[index]
        if (plan === 'permanent') throw Object.assign(new Error('bad data'), { code: '22P02' })
        if (plan === 'always') throw new Error('always')
        if (plan === undefined || plan === 0) return
        left[index] = (plan - 1) as Plan
        throw new Error('not yet')
      }
      const common = { inputs: [input], outputs: [output], retry: { attempts: 3 } } as const
      const service =
        kind === 'batch'
          ? defineService('service', {
              ...common,
              idempotency: { by: 'offset' },
              handleMany(batch) {
                return batch.map((message) => {
                  const { key, value } = message
                  try {
                    fail(value)
                    return { message, outputs: output.message({ key, value }) }
                  } catch (error) {
                    return { message, error }
                  }
                })
              },
            })
          : defineService('service', {
              ...common,
              ...(kind === 'storeless'
                ? {}
                : kind === 'transaction'
                  ? { publish: kind }
                  : { idempotency: { by: 'offset' } }),
              ...(kind === 'partition' ? { order: kind } : {}),
              async handle({ key, value }) {
                if (Number(value) % 2 === 0) await Promise.resolve()
                fail(value)
                return output.message({ key, value })
              },
            })
      const members: TestRuntime[] = []
      const join = async (): Promise<void> => {
        const broker = embeddedBroker({ memory, clock })
        members.push(await testRuntime(service, { clock, broker, store: memoryStore(data, clock) }))
      }
      await join()
      const observer = embeddedBroker({ memory, clock })
      await observer.connect()
      await sendTo(
        observer,
        ...messages.map(({ key }, index) => input.message({ key, value: `${index}` })),
      )
      for (const event of events) {
        if (event === 'join' && members.length < 3) await join()
        if (event === 'stop') await members.shift()?.stop()
        await clock.advance(150)
      }
      if (members.length === 0) await join()
      await eventually('all is handled', async () => {
        await clock.advance(500)
        return await areSettled(observer, [service])
      })
      for (const member of members) await member.stop()
      const outputs = (await messagesOf(observer, output)).map(({ value }) => Number(value))
      const letters = (await deadLettersOf(observer, 'service')).map(
        ({ raw, headers }) => `${String(raw.value)} of ${headers.get(letterHeaders.topic)}`,
      )
      await observer.close()
      const isBad = ({ plan }: { readonly plan: Plan }): boolean => typeof plan === 'string'
      const expected = messages.flatMap((one, index) => (isBad(one) ? [] : [index]))
      const bad = messages.flatMap((one, index) => (isBad(one) ? [`${index} of input`] : []))
      // Copies are there at most where nothing remembers.
      const firsts = outputs.filter((value, place) => outputs.indexOf(value) === place)
      if (kind !== 'storeless') assert.equal(outputs.length, firsts.length, 'effects are once')
      assert.deepEqual(
        firsts.toSorted((one, other) => one - other),
        expected,
      )
      assert.deepEqual([...new Set(letters)].toSorted(), bad.toSorted())
      if (kind !== 'storeless') assert.equal(letters.length, bad.length)
      for (const key of ['a', 'b', 'c', 'd']) {
        const ofKey = firsts.filter((index) => messages[index]?.key === key)
        assert.deepEqual(
          ofKey,
          ofKey.toSorted((one, other) => one - other),
          `order of ${key}`,
        )
      }
    }),
    { numRuns: 150 },
  )
})
