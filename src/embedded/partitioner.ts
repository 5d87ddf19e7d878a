/**
 * The partition of a key as Java's default partitioner chooses it, so that a key has one home whoever writes it:
 * murmur2 of the key's bytes, its top bit cleared, modulo the number of partitions.
 */
export function partitionForKey(key: Uint8Array, partitions: number): number {
  return (murmur2(key) & 0x7fffffff) % partitions
}

const seed = 0x9747b28c
const multiplier = 0x5bd1e995

/** The 32-bit murmur2 hash that Kafka uses, as a signed number. */
export function murmur2(data: Uint8Array): number {
  const { length } = data
  const tail = length & ~3
  let hash = seed ^ length
  for (let index = 0; index < tail; index += 4) {
    let word =
      byte(data, index) |
      (byte(data, index + 1) << 8) |
      (byte(data, index + 2) << 16) |
      (byte(data, index + 3) << 24)
    word = Math.imul(word, multiplier)
    word ^= word >>> 24
    hash = Math.imul(hash, multiplier) ^ Math.imul(word, multiplier)
  }
  const rest = length - tail
  if (rest === 3) hash ^= byte(data, tail + 2) << 16
  if (rest >= 2) hash ^= byte(data, tail + 1) << 8
  if (rest >= 1) hash = Math.imul(hash ^ byte(data, tail), multiplier)
  hash = Math.imul(hash ^ (hash >>> 13), multiplier)
  return hash ^ (hash >>> 15)
}

function byte(data: Uint8Array, index: number): number {
  return data[index] as number
}
