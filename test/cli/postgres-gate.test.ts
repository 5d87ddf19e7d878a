import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { address, ask, freshName, newClient } from '../postgres/server.ts'
import { Workplace } from './cli-process.ts'
import { gateModule } from './gate-module.ts'

describe('pollux gate', { concurrency: 2 }, () => {
  const schema = freshName()
  const table = `${schema}.book_readiness`
  const place = new Workplace()
  const at = ['--postgres', address()]

  before(async () => {
    place.write('services.ts', gateModule(table))
    place.write('not-yet.ts', gateModule(`${schema}.not_yet`))
    place.write('others.ts', gateModule(table).replace('export const publishing', 'const hidden'))
    await ask(`create schema ${schema}`)
    // As the gate makes it, and with rows of each kind.
    await ask(`create table ${table} (key text primary key, words timestamptz, price timestamptz,
      price_payload jsonb, opened_at timestamptz, expires_at timestamptz, expired_at timestamptz)`)
    await ask(`insert into ${table} values
      ('dune', now() - interval '3 h 10 min', null, null, null, now() + interval '6 d 21 h', null),
      ('emma', null, now() - interval '50 min 30 s', '12.5', null, null, null),
      ('ulysses', now() - interval '2 d', null, null, null, now() - interval '1 min', null),
      ('solaris', now() - interval '3 d', now() - interval '2 d', '9', now() - interval '2 d', null, null),
      ('ivanhoe', now() - interval '9 d', null, null, null, null, now() - interval '2 d'),
      ('mended', now() - interval '9 d', now(), null, null, null, null)`)
  })
  after(async () => {
    place[Symbol.dispose]()
    await ask(`drop schema ${schema} cascade`)
  })

  const said = (...args: string[]): Promise<string> => place.output(['gate', ...args, ...at])

  test('list shows the gates that wait, longest first, and can be asked for some of them', async () => {
    const lines = (await said('list', 'services.ts')).split('\n')
    assert.deepEqual(
      lines.map((line) => line.replaceAll(/  +/g, ' | ')),
      [
        'GATE | KEY | WAITING FOR | SINCE | EXPIRES',
        'publishing | mended | | 9 d | never',
        'publishing | ulysses | price | 2 d | now, when its service looks',
        'publishing | dune | price | 3 h | in 6 d',
        'publishing | emma | words | 50 min | never',
        '',
      ].map((line) => line.replace('| | ', '| ')),
    )
    const json = async (...args: string[]): Promise<unknown[]> =>
      (await said('list', 'services.ts', '--json', ...args))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => (JSON.parse(line) as { readonly key: string }).key)
    assert.deepEqual(await json('--waiting-for', 'words'), ['emma'])
    assert.deepEqual(await json('--older-than', '3h', '--waiting-for', 'price'), [
      'ulysses',
      'dune',
    ])
    assert.match(
      await said('list', 'services.ts', '--limit', '1'),
      /More wait; --limit shows them\.\n$/,
    )
  })

  test('show gives a row with its facts and what was kept of them', async () => {
    const text = await said('show', 'services.ts', 'emma')
    assert.match(
      text,
      /^gate {5}publishing\ntable .*"book_readiness"\nkey {6}emma\nstage {4}waiting\n/,
    )
    assert.match(text, /^words {2}waiting$/m)
    assert.match(text, /^price {2}\d{4}-\d\d-\d\dT\S+Z {2}12\.5$/m)
    const found = JSON.parse(await said('show', 'services.ts', 'solaris', '--json')) as object
    const { stage, missing, facts } = found as Record<string, unknown>
    assert.deepEqual([stage, missing], ['opened', []])
    assert.equal((facts as { readonly price: { readonly payload: unknown } }).price.payload, 9)
  })

  test('explain says what a key waits for and since when, or how it ended', async () => {
    const sentences: readonly [string, RegExp][] = [
      [
        'dune',
        /^'dune' of publishing: waiting for: price since 3 h; has words; expires in 6 d \(2/,
      ],
      ['ulysses', /: waiting for: price since 2 d; has words; expires now, when its service looks/],
      ['solaris', /: opened 2 d ago \(\S+Z\); the first fact came 3 d ago/],
      ['ivanhoe', /: expired 2 d ago \(\S+Z\), without price; has words$/m],
      ['mended', /: has all its facts, and opens with the next one that comes; has words, price;/],
    ]
    await Promise.all(
      sentences.map(async ([key, pattern]) =>
        assert.match(await said('explain', 'services.ts', key), pattern),
      ),
    )
  })

  test('It waits for no lock of those who write, and needs no more than the right to read', async () => {
    const writer = await newClient()
    await writer.query(`begin; lock table ${table} in exclusive mode`)
    const role = freshName()
    await ask(`create role ${role} login`)
    await ask(`grant usage on schema ${schema} to ${role}`)
    await ask(`grant select on ${table} to ${role}`)
    try {
      const args = ['gate', 'list', 'services.ts', '--postgres', address({ user: role })]
      assert.match(await place.output(args), /dune/)
    } finally {
      await writer.end()
      await ask(`drop owned by ${role}`)
      await ask(`drop role ${role}`)
    }
  })

  test('What it cannot answer ends with a code and a reason', async () => {
    const wrong: readonly [readonly string[], number, RegExp][] = [
      [
        ['show', 'services.ts', 'nobody'],
        2,
        /The key 'nobody' is unknown to publishing \(.*it was forgotten/s,
      ],
      [['explain', 'services.ts', 'nobody', '--json'], 2, /is unknown to/],
      [['list', 'not-yet.ts'], 1, /There is no table .*not_yet.*code: POLLUX_TABLE_INVALID/s],
      [['list', 'others.ts'], 2, /exports no gate.*the services 'other'/s],
      [['list', 'services.ts', '--only', 'other'], 2, /exports no gate/],
      [['list', 'services.ts', '--waiting-for', 'cover'], 2, /no fact 'cover'.*'words', 'price'/s],
      [['list', 'services.ts', 'dune'], 2, /list takes no key/],
      [['explain', 'services.ts'], 2, /explain needs a key/],
      [['show', 'services.ts', 'dune', '--limit', '2'], 2, /go with pollux gate list/],
      [['list', 'services.ts', '--older-than', 'long'], 2, /--older-than: expected a duration/],
      [['remove', 'services.ts', 'dune'], 2, /Allowed choices are list, show, explain/],
    ]
    await Promise.all(
      wrong.map(async ([args, expected, message]) => {
        const { code, stdout, stderr } = await place.pollux(['gate', ...args, ...at])
        assert.deepEqual([code, String(stdout)], [expected, ''], args.join(' '))
        assert.match(stderr, message)
      }),
    )
  })
})
