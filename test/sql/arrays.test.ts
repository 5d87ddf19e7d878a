import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  byteaArray,
  int4Array,
  int8Array,
  readArray,
  readBooleanArray,
  readInt8Array,
  textArray,
} from '../../src/sql/arrays.ts'
import { pgliteDatabase, type TestDatabase } from './test-database.ts'

describe('arrays in binary form', () => {
  let database: TestDatabase

  before(async () => {
    database = await pgliteDatabase()
  })
  after(() => database.close())

  /** What the database makes of it, as its own text. */
  async function asText(type: string, array: Buffer): Promise<unknown> {
    const [row] = await database.ask(`select $1::${type}[]::text as text`, [array])
    return row?.['text']
  }

  it('are what the database takes them for', async () => {
    assert.equal(
      await asText('bytea', byteaArray([Buffer.from([0, 255]), null, Buffer.alloc(0)])),
      '{"\\\\x00ff",NULL,"\\\\x"}',
    )
    assert.equal(await asText('text', textArray(['a"\\', 'ü', '', null])), '{"a\\"\\\\",ü,"",NULL}')
    assert.equal(await asText('int4', int4Array([0, 1, 2 ** 31 - 1])), '{0,1,2147483647}')
    const large = [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, null]
    assert.equal(
      await asText('int8', int8Array(large)),
      '{0,1,2147483648,4294967295,4294967296,9007199254740991,NULL}',
    )
  })

  it('may be empty', async () => {
    for (const [type, array] of Object.entries({
      bytea: byteaArray([]),
      text: textArray([]),
      int4: int4Array([]),
      int8: int8Array([]),
    })) {
      assert.equal(await asText(type, array), '{}')
    }
  })

  it('are read as the database writes them', async () => {
    const [row] = await database.ask(
      `select array_send(array['\\x00ff'::bytea, null, '']) as bytes, array_send('{}'::int8[]) as none,
        array_send(array[0, 4294967296, null, 9007199254740991]) as numbers,
        array_send(array[true, null, false]) as answers`,
    )
    const { bytes, none, numbers, answers } = row as Record<string, Buffer>
    assert.deepEqual(readArray(bytes as Buffer), [Buffer.from([0, 255]), null, Buffer.alloc(0)])
    assert.deepEqual(readArray(none as Buffer), [])
    assert.deepEqual(readInt8Array(numbers as Buffer), [0, 2 ** 32, null, 2 ** 53 - 1])
    assert.deepEqual(readBooleanArray(answers as Buffer), [true, null, false])
  })

  it('that are cut off or too long are refused', () => {
    const array = int8Array([1, 2])
    for (const wrong of [array.subarray(0, -1), Buffer.concat([array, Buffer.alloc(1)])]) {
      assert.throws(() => readArray(wrong))
      assert.throws(() => readInt8Array(wrong))
      assert.throws(() => readBooleanArray(wrong))
    }
    assert.throws(() => readInt8Array(int4Array([1])), /whole numbers of 8 bytes/)
  })
})
