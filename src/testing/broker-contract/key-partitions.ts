/** Keys and what Java's default partitioner (kafka-clients 4.4.0) answers for them, by number of partitions. */
export const keyPartitions: readonly {
  readonly key: Buffer
  readonly hash: number
  readonly partitions: Readonly<Record<number, number>>
}[] = [
  row('', 275646681, { 2: 1, 3: 0, 4: 1, 12: 9, 15: 6, 100: 81 }),
  row('a', -1563381124, { 2: 0, 3: 1, 4: 0, 12: 4, 15: 4, 100: 24 }),
  row('ab', 316155434, { 2: 0, 3: 2, 4: 2, 12: 2, 15: 14, 100: 34 }),
  row('abc', 479470107, { 2: 1, 3: 0, 4: 3, 12: 3, 15: 12, 100: 7 }),
  row('abcd', -1323649548, { 2: 0, 3: 2, 4: 0, 12: 8, 15: 5, 100: 0 }),
  row('100:48069', 1009543857, { 2: 1, 3: 0, 4: 1, 12: 9, 15: 12, 100: 57 }),
  // The hash's top bit is set.
  row('TT0124', -1442328778, { 2: 0, 3: 1, 4: 2, 12: 10, 15: 10, 100: 70 }),
  row('21', -973932308, { 2: 0, 3: 0, 4: 0, 12: 0, 15: 0, 100: 40 }),
  row('order-1', 1221710326, { 2: 0, 3: 1, 4: 2, 12: 10, 15: 1, 100: 26 }),
  row('order-2', -1055499005, { 2: 1, 3: 0, 4: 3, 12: 3, 15: 3, 100: 43 }),
  row('lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971, {
    2: 1,
    3: 2,
    4: 1,
    12: 5,
    15: 2,
    100: 77,
  }),
  row('Grüße', 1190824359, { 2: 1, 3: 0, 4: 3, 12: 3, 15: 9, 100: 59 }),
  row('日本語', 1431860170, { 2: 0, 3: 1, 4: 2, 12: 10, 15: 10, 100: 70 }),
  row('😀', 131881617, { 2: 1, 3: 0, 4: 1, 12: 9, 15: 12, 100: 17 }),
  row([0], 375494588, { 2: 0, 3: 2, 4: 0, 12: 8, 15: 8, 100: 88 }),
  row([0xff, 0xfe, 0xfd], 998637092, { 2: 0, 3: 2, 4: 0, 12: 8, 15: 2, 100: 92 }),
  row([0x80, 0, 0x81, 0x7f, 0xff], 411346515, { 2: 1, 3: 0, 4: 3, 12: 3, 15: 0, 100: 15 }),
  row(
    Array.from({ length: 256 }, (_, byte) => byte),
    -1948347274,
    { 2: 0, 3: 1, 4: 2, 12: 10, 15: 4, 100: 74 },
  ),
]

function row(
  key: string | readonly number[],
  hash: number,
  partitions: Readonly<Record<number, number>>,
): (typeof keyPartitions)[number] {
  return { key: typeof key === 'string' ? Buffer.from(key) : Buffer.from(key), hash, partitions }
}
