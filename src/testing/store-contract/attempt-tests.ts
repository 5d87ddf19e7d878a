import assert from 'node:assert/strict'
import { mark } from './store-probe.ts'
import type { TransactionTest } from './transaction-probe.ts'

/** The attempts of a transaction, one for each message. */
export const attemptTests: Readonly<Record<string, TransactionTest>> = {
  async 'the value of an attempt is passed on'(_probe, own) {
    const transaction = await own.begin()
    const value = { any: 'thing' }
    assert.equal(await transaction.attempt(async () => value), value)
    assert.equal(await transaction.attempt(async () => undefined), undefined)
    await transaction.rollback()
  },

  async 'the rejection of an attempt is passed on as it is'(_probe, own) {
    const transaction = await own.begin()
    const failure = new TypeError('from the handler')
    const rejected = transaction.attempt(async () => {
      throw failure
    })
    await assert.rejects(rejected, (error) => error === failure)
    await transaction.rollback()
  },

  async 'an attempt that rejects takes back what it wrote, and that alone'(probe, own) {
    const transaction = await own.begin()
    await own.attempt(transaction, 'a', 'first')
    const failure = new Error('from the handler')
    const failing = transaction.attempt(async (capability) => {
      await own.write(capability, 'a', 'second')
      await own.write(capability, 'b')
      throw failure
    })
    await assert.rejects(failing, failure)
    assert.equal(transaction.broken, undefined)
    await own.attempt(transaction, 'c')
    await own.committed(transaction, { marks: [mark('m')] })
    assert.deepEqual(await own.read('a', 'b', 'c'), ['first', undefined, 'written'])
    assert.deepEqual(await probe.applied(mark('m')), [true])
  },

  async 'an attempt may be repeated after it failed'(_probe, own) {
    const transaction = await own.begin()
    for (let count = 1; count <= 3; count += 1) {
      const failing = transaction.attempt(async (capability) => {
        await own.write(capability, 'a', `${count}`)
        throw new Error(`failure ${count}`)
      })
      await assert.rejects(failing, new Error(`failure ${count}`))
    }
    await own.attempt(transaction, 'a', 'at last')
    await own.committed(transaction)
    assert.deepEqual(await own.read('a'), ['at last'])
  },

  async 'of many attempts those are kept that did not reject'(_probe, own) {
    const transaction = await own.begin()
    const keys = Array.from({ length: 300 }, (_, index) => `${index}`)
    const isGood = (key: string): boolean => Number(key) % 3 !== 0
    for (const key of keys) {
      const attempt = transaction.attempt(async (capability) => {
        await own.write(capability, key, key)
        if (!isGood(key)) throw new Error(key)
      })
      if (isGood(key)) await attempt
      else await assert.rejects(attempt, new Error(key))
    }
    assert.equal(transaction.broken, undefined)
    await own.committed(transaction)
    assert.deepEqual(
      await own.read(...keys),
      keys.map((key) => (isGood(key) ? key : undefined)),
    )
  },

  async 'a deferred constraint fails the attempt that violated it'(probe, own) {
    const transaction = await own.begin()
    await own.attempt(transaction, 'a')
    let isWritten = false
    const violating = transaction.attempt(async (capability) => {
      await own.write(capability, 'b')
      await own.violate(capability)
      isWritten = true
    })
    await assert.rejects(violating)
    assert.ok(isWritten, 'the constraint is checked at the end')
    assert.equal(transaction.broken, undefined)
    await own.attempt(transaction, 'c')
    await own.committed(transaction, { marks: [mark('m')] })
    assert.deepEqual(await own.read('a', 'b', 'c'), ['written', undefined, 'written'])
    assert.deepEqual(await probe.applied(mark('m')), [true])
  },

  async 'what an attempt was given is dead afterwards'(_probe, own) {
    const transaction = await own.begin()
    const kept: unknown[] = []
    await transaction.attempt(async (capability) => {
      kept.push(capability)
    })
    const failing = transaction.attempt(async (capability) => {
      kept.push(capability)
      throw new Error('from the handler')
    })
    await assert.rejects(failing)
    for (const dead of kept) await assert.rejects(own.write(dead, 'between'))
    await transaction.attempt(async (capability) => {
      // Another attempt does not bring it back.
      for (const dead of kept) await assert.rejects(own.write(dead, 'within'))
      await own.write(capability, 'a')
    })
    await own.committed(transaction)
    for (const dead of kept) await assert.rejects(own.write(dead, 'late'))
    assert.deepEqual(await own.read('between', 'within', 'late', 'a'), [
      undefined,
      undefined,
      undefined,
      'written',
    ])
  },

  async 'a transaction is not broken while it can go on'(_probe, own) {
    const transaction = await own.begin()
    assert.equal(transaction.broken, undefined)
    await own.attempt(transaction, 'a')
    assert.equal(transaction.broken, undefined)
    await own.committed(transaction)
  },
}
