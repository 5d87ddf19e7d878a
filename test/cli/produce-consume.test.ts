import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { eventually } from '../../src/testing/eventually.ts'
import { lines, Workplace } from './cli-process.ts'

// Each test has a folder of its own. They wait more than they work, so they may overlap.
describe('pollux produce and consume', { concurrency: 2 }, () => {
  test('case 55: NDJSON goes in and comes out byte for byte', async () => {
    using place = new Workplace()
    const content =
      '{"id":9007199254740993,"price":0.1234567890123456789, "total":1.10,"code":"007","neg":-0}\r\n\n[1.0]\n"ä\\u00e4"'
    place.write('in.ndjson', `\ufeff${content}`)
    const { code, stdout } = await place.pollux([
      'produce',
      't',
      '--file',
      'in.ndjson',
      '--partitions',
      '1',
      '--json',
    ])
    assert.equal(code, 0)
    const { records, finished, topic } = JSON.parse(String(stdout)) as Record<string, unknown>
    assert.deepEqual([topic, records, finished], ['t', 3, true])
    const raw = await place.pollux(['consume', 't', '--format', 'raw'])
    assert.equal(String(raw.stdout), `${content.replace('\r\n\n', '\n')}\n`)
    const json = await place.pollux(['consume', 't', '--limit', '1'])
    assert.match(
      String(json.stdout),
      /"value":\{"id":9007199254740993,"price":0\.1234567890123456789, "total":1\.10,/,
    )
  })

  test('A CSV file is written row by row, with key and exact numbers', async () => {
    using place = new Workplace()
    place.write('prices.csv', 'symbol,price,note\r\nA,1.10,"x, y"\r\nB,9007199254740993,\r\n')
    const { code } = await place.pollux([
      'produce',
      'prices',
      '--file',
      'prices.csv',
      '--key',
      'symbol',
      '--numbers',
      'price',
    ])
    assert.equal(code, 0)
    const { stdout } = await place.pollux(['consume', 'prices'])
    assert.match(String(stdout), /"key":"A","value":\{"symbol":"A","price":1\.10,"note":"x, y"\}/)
    assert.match(
      String(stdout),
      /"key":"B","value":\{"symbol":"B","price":9007199254740993,"note":""\}/,
    )
    const topics = await place.pollux(['topics', '--json'])
    assert.deepEqual(JSON.parse(String(topics.stdout)), {
      name: 'prices',
      partitions: 4,
      messages: 2,
    })
  })

  test('A bad line stops with its number, everything before it is written, and --skip writes the rest', async () => {
    using place = new Workplace()
    const good = lines(1_300)
    place.write('in.ndjson', `${good}{"n":\n${lines(2)}`)
    const bad = await place.pollux(['produce', 't', '--file', 'in.ndjson'])
    assert.equal(bad.code, 1)
    assert.match(
      bad.stderr,
      /Line 1301 of in\.ndjson is wrong; 1,300 records before it were written and acknowledged/,
    )
    assert.match(bad.stderr, /--skip 1300/)
    assert.match(bad.stderr, /code: POLLUX_FILE_INVALID/)
    assert.equal((await place.records('t')).length, 1_300)
    place.write('in.ndjson', `${good}{"n":"mended"}\n${lines(2)}`)
    const rest = await place.pollux(['produce', 't', '--file', 'in.ndjson', '--skip', '1300'])
    assert.equal(rest.code, 0)
    assert.equal((await place.records('t')).length, 1_303)
  })

  test('Hostile files are refused with a clear block, and nothing is half written', async () => {
    using place = new Workplace()
    const hostile: [string, string | Buffer, RegExp][] = [
      ['binary.ndjson', Buffer.from([0x00, 0xff, 0x0a, 0x01]), /Line 1 of binary\.ndjson.*UTF-8/],
      ['binary.csv', Buffer.from([0x61, 0x0a, 0xff, 0x0a]), /UTF-8/],
      ['huge.ndjson', Buffer.alloc(20 * 1024 ** 2, '1'), /Line 1 of huge\.ndjson.*at most 16 MiB/],
      ['cut.ndjson', '{"a":1', /Line 1 .*the file may be cut off/],
      ['cut.csv', 'a,b\n1,"x', /Line \d of cut\.csv/],
      ['ragged.csv', 'a,b\n1\n', /Line 2 of ragged\.csv/],
      ['control.ndjson', '\u001b[2J\n', /Line 1/],
      ['unknown.txt', '1\n', /does not say its format.*--format/s],
    ]
    for (const [name, content, message] of hostile) {
      place.write(name, content)
      const { code, stdout, stderr } = await place.pollux(['produce', 't', '--file', name])
      assert.deepEqual([code, String(stdout)], [1, ''], name)
      assert.match(stderr, message)
      assert.match(stderr, /code: POLLUX_FILE_INVALID/)
      // oxlint-disable-next-line no-control-regex
      assert.doesNotMatch(stderr, /\u001b/)
    }
    for (const name of ['nowhere.ndjson', '.']) {
      assert.match(
        (await place.pollux(['produce', 't', '--file', name, '--format', 'ndjson'])).stderr,
        /cannot be read/,
      )
    }
    assert.equal((await place.records('t')).length, 0)
  })

  test('An empty file writes nothing and is no error', async () => {
    using place = new Workplace()
    place.write('empty.ndjson', '')
    const { code, stdout } = await place.pollux(['produce', 't', '--file', 'empty.ndjson'])
    assert.equal(code, 0)
    assert.match(String(stdout), /Wrote 0 records/)
  })

  test('stdin is read as it comes, and SIGINT ends after what was read', async () => {
    using place = new Workplace()
    const producing = place.start(['produce', 't', '--file', '-', '--json'])
    producing.child.stdin?.write('{"n":1}\n{"n":2}\n{"n":')
    await eventually(
      'both records are written',
      async () => (await place.records('t').catch(() => [])).length === 2,
    )
    producing.kill('SIGINT')
    const { code, stdout, stderr } = await producing.ended()
    assert.equal(code, 130)
    const { records, finished } = JSON.parse(String(stdout)) as Record<string, unknown>
    assert.deepEqual([records, finished], [2, false])
    assert.match(stderr, /Go on with --skip 2/)
    assert.equal((await place.records('t')).length, 2)
  })

  test('A stopped file goes on with --skip, each record once', async () => {
    using place = new Workplace()
    place.write('in.ndjson', lines(400))
    const producing = place.start([
      'produce',
      't',
      '--file',
      'in.ndjson',
      '--rate',
      '50',
      '--partitions',
      '1',
    ])
    await eventually(
      'some records are written',
      async () => (await place.records('t').catch(() => [])).length > 0,
    )
    producing.kill('SIGTERM')
    const { code, stderr } = await producing.ended()
    assert.equal(code, 130)
    const skip = /--skip (\d+)/.exec(stderr)?.[1] ?? ''
    assert.ok(Number(skip) > 0 && Number(skip) < 400, skip)
    assert.equal(
      (await place.pollux(['produce', 't', '--file', 'in.ndjson', '--skip', skip])).code,
      0,
    )
    const numbers = (await place.records('t')).map(({ value }) => (value as { n: number }).n)
    assert.deepEqual(
      numbers,
      Array.from({ length: 400 }, (_, index) => index),
    )
  })

  test('A reader that goes away ends consume in silence', async () => {
    using place = new Workplace()
    place.write('in.ndjson', lines(20_000))
    await place.pollux(['produce', 't', '--file', 'in.ndjson'])
    const consuming = place.start(['consume', 't', '--follow'])
    consuming.child.stdout?.once('data', () => consuming.child.stdout?.destroy())
    const { code, stderr } = await consuming.ended()
    assert.deepEqual([code, stderr], [0, ''])
  })

  test('consume ends at the end of the log, --follow goes on until SIGINT, and no group is left behind', async () => {
    using place = new Workplace()
    place.write('in.ndjson', lines(3))
    await place.pollux(['produce', 't', '--file', 'in.ndjson'])
    assert.equal((await place.records('t')).length, 3)
    const following = place.start(['consume', 't', '--follow', '--from', 'latest'])
    // Whether it reads already cannot be seen from outside: so records are written until one comes through.
    await eventually('a later record is shown', async () => {
      await place.pollux(['produce', 't', '--file', '-'], '{"late":true}\n')
      return following.stdout.includes('"late":true')
    })
    assert.doesNotMatch(following.stdout, /"n":/)
    following.kill('SIGINT')
    const { code, stderr } = await following.ended()
    assert.deepEqual([code, stderr], [0, ''])
    assert.equal(String((await place.pollux(['groups', '--json'])).stdout), '')
  })

  test('Limit, partition and start position choose what is shown', async () => {
    using place = new Workplace()
    place.write('in.ndjson', lines(30))
    await place.pollux(['produce', 't', '--file', 'in.ndjson', '--key', 'n', '--partitions', '2'])
    assert.equal((await place.records('t', '--limit', '7')).length, 7)
    const ofOne = await place.records('t', '--partition', '1')
    assert.ok(ofOne.length > 0 && ofOne.every(({ partition }) => partition === 1))
    const last = await place.records('t', '--partition', '0', '--from', '-2')
    const all = await place.records('t', '--partition', '0')
    assert.deepEqual(last, all.slice(-2))
    assert.equal((await place.records('t', '--from', '-1h')).length, 30)
    assert.equal((await place.records('t', '--from', '2001-01-01')).length, 30)
    assert.equal((await place.records('t', '--from', '2999-01-01')).length, 0)
    const table = await place.pollux(['consume', 't', '--format', 'table', '--limit', '2'])
    assert.match(String(table.stdout), /^PARTITION +OFFSET +TIME +KEY +VALUE\n.*\n.*\n$/)
    const wrong = await place.pollux(['consume', 't', '--partition', '2'])
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /has no partition 2/)
  })

  test('Looking at what is not there is an error that makes nothing', async () => {
    using place = new Workplace()
    for (const args of [['topics'], ['groups'], ['group', 'g'], ['consume', 't']]) {
      const { code, stderr } = await place.pollux(args)
      assert.equal(code, 2)
      assert.match(stderr, /There is no embedded broker in \.pollux/)
    }
    assert.ok(!place.has('.pollux'))
    await place.pollux(['produce', 't', '--file', '-'], '1\n')
    const unknown = await place.pollux(['consume', 'other'])
    assert.equal(unknown.code, 1)
    assert.match(unknown.stderr, /POLLUX_TOPIC_UNKNOWN/)
    assert.match((await place.pollux(['group', 'nobody'])).stderr, /There is no group 'nobody'/)
  })

  test('A full disk is an error, not a success', async () => {
    using place = new Workplace()
    await place.pollux(['produce', 't', '--file', '-'], lines(10))
    const { code, stderr } = await place.intoFullDisk(['consume', 't'])
    assert.equal(code, 1)
    assert.match(stderr, /The output cannot be written[\s\S]*POLLUX_FILE_INVALID/)
  })
})
