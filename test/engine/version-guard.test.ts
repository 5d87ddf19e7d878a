import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkVersion, guardOf, isNewer } from '../../src/engine/version-guard.ts'
import { PolluxError } from '../../src/index.ts'
import { partitionOf, workOf } from './works.ts'

const versions: fc.Arbitrary<number | bigint> = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
  // Such as nanoseconds since 1970: whole, but printed with other digits than they have.
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 70n }).map(Number),
)

const works = fc
  .record({ partition: fc.nat(2), offset: fc.nat(3) })
  .map(({ partition, offset }) => workOf(partitionOf(partition), offset))

test('only a larger version is newer; of equal ones the later of the same partition', () => {
  fc.assert(
    fc.property(versions, works, versions, works, (noted, by, version, work) => {
      const isLater = String(work.partition) === String(by.partition) && work.offset > by.offset
      const expected = version > noted || (!(version < noted) && isLater)
      assert.equal(isNewer(version, work, guardOf(noted, by)), expected)
    }),
  )
})

test('of equal versions the later wins, however large they are and whether number or bigint', () => {
  fc.assert(
    fc.property(versions, (version) => {
      const partition = partitionOf()
      const [first, second] = [workOf(partition, 0), workOf(partition, 1)]
      assert.equal(isNewer(version, second, guardOf(version, first)), true)
      assert.equal(isNewer(version, first, guardOf(version, first)), false, 'itself again')
      assert.equal(isNewer(version, first, guardOf(version, second)), false)
    }),
  )
})

test('whatever the order of arrival, the largest version stands in the end', () => {
  fc.assert(
    fc.property(fc.array(versions, { minLength: 1 }), (given) => {
      const partition = partitionOf()
      let guard: string | null = null
      let standing: number | bigint | undefined
      given.forEach((version, offset) => {
        const work = workOf(partition, offset)
        if (!isNewer(version, work, guard)) return
        guard = guardOf(version, work)
        standing = version
      })
      assert.ok(standing !== undefined)
      for (const version of given) assert.ok(version <= standing)
    }),
  )
})

test('a key without a note takes any version', () => {
  assert.equal(isNewer(-1, workOf(partitionOf(), 0), null), true)
})

test('what is no version fails, and names its record', () => {
  const work = workOf(partitionOf(), 7)
  for (const version of [Number.NaN, Number.POSITIVE_INFINITY, '1', undefined, null, new Date()]) {
    assert.throws(
      () => checkVersion(version, work),
      (error) =>
        PolluxError.is(error, 'POLLUX_HANDLER_FAILED') && error.message.includes('input/0/7'),
      String(version),
    )
  }
  for (const version of [0, -0.5, 2n ** 80n]) assert.equal(checkVersion(version, work), version)
})

test('a note that is none is told as damage of the store', () => {
  assert.throws(
    () => isNewer(1, workOf(partitionOf(), 0), 'nonsense'),
    (error) => PolluxError.is(error, 'POLLUX_STORE_FAILED'),
  )
})
