import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { murmur2, partitionForKey } from '../../src/embedded/partitioner.ts'
import { keyPartitions } from '../../src/testing/broker-contract/key-partitions.ts'

it('case 49: keys hash as in Java, and go to the partition that Java’s default partitioner chooses', () => {
  for (const { key, hash, partitions } of keyPartitions) {
    assert.equal(murmur2(key), hash, key.toString('hex'))
    for (const [count, expected] of Object.entries(partitions)) {
      assert.equal(
        partitionForKey(key, Number(count)),
        expected,
        `${key.toString('hex')} of ${count}`,
      )
    }
  }
})

it('the table holds the keys that the case names, one with the hash’s top bit set, non-ASCII and binary ones', () => {
  const keys = keyPartitions.map(({ key }) => key.toString('latin1'))
  assert.ok(keys.includes('100:48069'))
  assert.ok(keys.includes('TT0124'))
  assert.ok(keyPartitions.some(({ hash }) => hash < 0))
  assert.ok(keyPartitions.some(({ key }) => key.includes(0xff)))
  assert.ok(keyPartitions.some(({ key }) => key.includes(0xc3)))
})

it('any key has a partition that exists, and always the same', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 64 }),
      fc.integer({ min: 1, max: 1_000 }),
      (key, partitions) => {
        const partition = partitionForKey(key, partitions)
        assert.ok(Number.isInteger(partition) && partition >= 0 && partition < partitions)
        assert.equal(partitionForKey(Uint8Array.from(key), partitions), partition)
      },
    ),
  )
})
