import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { csvRecords } from '../../../src/cli/produce/csv-records.ts'
import {
  type InputRecord,
  type InputRecords,
  LineProblem,
} from '../../../src/cli/produce/input-record.ts'
import { jsonRecords } from '../../../src/cli/produce/json-records.ts'

/** A byte stream that is cut into pieces of the given size. */
async function* pieces(content: string | Buffer, size = 7): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(content)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

interface Collected {
  readonly records: readonly InputRecord[]
  readonly problem: LineProblem | undefined
}

async function collect(source: InputRecords): Promise<Collected> {
  const records: InputRecord[] = []
  try {
    for await (const some of source) records.push(...some)
    return { records, problem: undefined }
  } catch (error) {
    if (error instanceof LineProblem) return { records, problem: error }
    throw error
  }
}

function shown({ records }: Collected): string[] {
  return records.map(({ line, key, value }) => `${line} ${key ?? '-'} ${value}`)
}

describe('NDJSON', () => {
  const plain = { key: undefined, skip: 0 }

  test('case 55: lines are passed on byte for byte, and a key keeps its digits', async () => {
    const line =
      '{"id":9007199254740993,"price":0.1234567890123456789,"total":1.10,"code":"007","neg":-0}'
    const { records } = await collect(jsonRecords(pieces(`${line}\n`), { key: 'id', skip: 0 }))
    assert.equal(String(records[0]?.value), line)
    assert.equal(String(records[0]?.key), '9007199254740993')
  })

  test('Blank lines, CRLF and a byte order mark belong to no record, and line numbers count them', async () => {
    const content = Buffer.concat([
      Buffer.from([0xef, 0xbb, 0xbf]),
      Buffer.from('{"a":1}\r\n\r\n  \n{"a":2}'),
    ])
    assert.deepEqual(shown(await collect(jsonRecords(pieces(content), plain))), [
      '1 - {"a":1}',
      '4 - {"a":2}',
    ])
  })

  test('An empty input has no records', async () => {
    assert.deepEqual(await collect(jsonRecords(pieces(''), plain)), {
      records: [],
      problem: undefined,
    })
  })

  test('A bad line is told by its number after all records before it were handed out', async () => {
    const found = await collect(
      jsonRecords(pieces('{"a":1}\n{"a":2}\n{"a":\n{"a":4}\n', 1_000), plain),
    )
    assert.deepEqual(shown(found), ['1 - {"a":1}', '2 - {"a":2}'])
    assert.equal(found.problem?.line, 3)
  })

  test('A last line that was cut off is told as such, and none of it is written', async () => {
    const found = await collect(jsonRecords(pieces('{"a":1}\n{"a":2,"b'), plain))
    assert.equal(found.records.length, 1)
    assert.match(found.problem?.found ?? '', /the file may be cut off/)
  })

  test('Binary content is refused by line', async () => {
    const found = await collect(
      jsonRecords(pieces(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x0a])), plain),
    )
    assert.match(found.problem?.message ?? '', /line 1: expected UTF-8 text/)
  })

  test('The text of a bad line is not repeated in the error, since lines may hold secrets', async () => {
    for (const line of ['{"password":"hush" oops}', 'hush', '{"a":"hush"', '["hush",]']) {
      const found = await collect(jsonRecords(pieces(`${line}\n`), plain))
      assert.ok(found.problem !== undefined)
      assert.ok(!found.problem.message.includes('hush'), found.problem.message)
    }
  })

  test('A line of 20 MB is refused before it is in memory as a whole', async () => {
    let taken = 0
    async function* endless(): AsyncGenerator<Buffer> {
      yield Buffer.from('{"a":1}\n')
      for (; taken < 20; taken += 1) yield Buffer.alloc(1024 ** 2, 'x')
    }
    const found = await collect(jsonRecords(endless(), plain))
    assert.equal(found.records.length, 1)
    assert.match(found.problem?.message ?? '', /line 2: expected a line of at most 16 MiB/)
    assert.ok(taken < 20)
  })

  test('A key must be a text, a number or a truth value', async () => {
    const key = { key: 'k', skip: 0 }
    const good = await collect(
      jsonRecords(pieces('{"k":"ä\\n"}\n{"k":1e3}\n{"k":true}\n{"k":""}\n'), key),
    )
    assert.deepEqual(
      good.records.map((record) => String(record.key)),
      ['ä\n', '1e3', 'true', ''],
    )
    for (const bad of ['{"k":null}', '{"k":{}}', '{"k":[1]}', '{}', '5', '{"k":"\\ud83d"}']) {
      const { problem } = await collect(jsonRecords(pieces(bad), key))
      assert.match(problem?.message ?? '', /whose field 'k' is/, bad)
    }
  })

  test('Records to skip are counted without blank lines', async () => {
    const found = await collect(jsonRecords(pieces('1\n\n2\n3\n'), { key: undefined, skip: 2 }))
    assert.deepEqual(shown(found), ['4 - 3'])
  })

  test('However the bytes are cut into pieces, the records are the same', async () => {
    const content = '{"a":"ä€😀"}\r\n\n[1, 2]\n"x"\n'
    const whole = shown(await collect(jsonRecords(pieces(content, 1_000), plain)))
    for (let size = 1; size < 12; size += 1) {
      assert.deepEqual(shown(await collect(jsonRecords(pieces(content, size), plain))), whole)
    }
  })
})

describe('CSV', () => {
  const plain = { key: undefined, numbers: [], skip: 0 }

  test('A row becomes an object of texts, in the order of the columns, whatever their names', async () => {
    const found = await collect(
      csvRecords(pieces('b,2,1,__proto__\n007,"a ""q"", b",,x\n'), { ...plain, key: 'b' }),
    )
    assert.deepEqual(shown(found), ['2 007 {"b":"007","2":"a \\"q\\", b","1":"","__proto__":"x"}'])
  })

  test('case 55: columns of numbers keep every digit, and an empty cell is null', async () => {
    const content = 'id,price\n9007199254740993,0.1234567890123456789\n1,\n'
    const found = await collect(csvRecords(pieces(content), { ...plain, numbers: ['id', 'price'] }))
    assert.deepEqual(shown(found), [
      '2 - {"id":9007199254740993,"price":0.1234567890123456789}',
      '3 - {"id":1,"price":null}',
    ])
  })

  test('A cell that is no number in a column of numbers is told by line, after the rows before it', async () => {
    for (const cell of ['007', '1,5', 'NaN', '0x1', '+1', '1.']) {
      const content = `n\n1\n${cell.includes(',') ? `"${cell}"` : cell}\n2\n`
      const found = await collect(csvRecords(pieces(content), { ...plain, numbers: ['n'] }))
      assert.equal(found.records.length, 1, cell)
      assert.match(found.problem?.message ?? '', /line 3: expected a number in column 'n'/)
    }
  })

  test('CRLF, blank lines, a byte order mark and line feeds inside quotes are read as they are meant', async () => {
    const found = await collect(csvRecords(pieces('\ufeffa,b\r\n1,"x\r\ny"\r\n\r\n2,z\r\n'), plain))
    assert.deepEqual(
      found.records.map(({ value }) => String(value)),
      ['{"a":"1","b":"x\\r\\ny"}', '{"a":"2","b":"z"}'],
    )
  })

  test('A row of another length, a stray quote and an open quote at the end are told, after the rows before them', async () => {
    for (const bad of ['2\n', '2,"x"y\n', '2,"x\n']) {
      const found = await collect(csvRecords(pieces(`a,b\n1,x\n${bad}`, 1_000), plain))
      assert.deepEqual(
        found.records.map(({ value }) => String(value)),
        ['{"a":"1","b":"x"}'],
        bad,
      )
      assert.ok((found.problem?.line ?? 0) >= 3, bad)
    }
  })

  test('A header row with a repeated or empty name, or without the key’s column, is refused', async () => {
    for (const header of ['a,a', 'a,'])
      assert.match(
        String((await collect(csvRecords(pieces(`${header}\n1,2\n`), plain))).problem),
        /line 1/,
      )
    const file = 'aa,bb\n1,2\n'
    await assert.rejects(collect(csvRecords(pieces(file), { ...plain, key: 'id' })), {
      code: 'POLLUX_OPTION_INVALID',
      message: "--key: the header row has no column 'id'. Found the columns aa, bb.",
    })
    await assert.rejects(collect(csvRecords(pieces(file), { ...plain, numbers: ['aa', 'bc'] })), {
      code: 'POLLUX_OPTION_INVALID',
      message: /^--numbers: the header row has no column 'bc'\..* Did you mean bb\?$/,
    })
  })

  test('Bytes that are not UTF-8 are refused instead of being replaced', async () => {
    const found = await collect(csvRecords(pieces(Buffer.from([0x61, 0x0a, 0xe4, 0x0a])), plain))
    assert.match(String(found.problem), /expected UTF-8 text/)
    const cut = await collect(
      csvRecords(pieces(Buffer.from([0x61, 0x0a, 0x62, 0xe2, 0x82])), plain),
    )
    assert.match(String(cut.problem), /expected UTF-8 text/)
  })

  test('An empty file, and one with a header only, have no records', async () => {
    for (const content of ['', 'a,b\n', 'a,b'])
      assert.deepEqual((await collect(csvRecords(pieces(content), plain))).records, [])
  })

  test('However the bytes are cut into pieces, any cells come out as they went in', async () => {
    const cell = fc.string({ unit: 'binary' }).map((text) => text.toWellFormed())
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 20 }),
        async (rows, size) => {
          const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`
          const content = `x,y\n${rows.map(([x, y]) => `${quote(x)},${quote(y)}\n`).join('')}`
          const { records } = await collect(csvRecords(pieces(content, size), plain))
          assert.deepEqual(
            records.map(({ value }) => JSON.parse(String(value)) as unknown),
            rows.map(([x, y]) => ({ x, y })),
          )
        },
      ),
      { numRuns: 60 },
    )
  })
})
