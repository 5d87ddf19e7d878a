import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../src/testing/eventually.ts'
import { address, ask, freshName } from '../postgres/server.ts'
import { copyingModule, lines, Workplace } from './cli-process.ts'

const onKafka = ['--kafka', process.env['KAFKA_BROKERS'] ?? '127.0.0.1:9092']
const place = new Workplace()
after(() => place[Symbol.dispose]())

test('Workers on Kafka keep their state in PostgreSQL, and a restart goes on where they were', async () => {
  const schema = freshName()
  const base = `cli-${schema}`
  const names = { from: `${base}-in`, to: `${base}-out`, name: `${base}-counting` }
  const handler = `
    const seen = Number(String((await context.state.get()) ?? '0')) + 1
    await context.state.put(Buffer.from(String(seen)))
    return output.message({ key: message.key, value: Buffer.from(String(seen)) })`
  place.write('services.ts', copyingModule(handler, { ...names, state: true }))
  const counted = async (): Promise<unknown> => {
    const text = `select sum(convert_from(value, 'UTF8')::int)::int as n from ${schema}.pollux_state`
    return (await ask(text))[0]?.['n']
  }
  try {
    for (const round of [1, 2]) {
      await place.output(
        ['produce', names.from, '--file', '-', '--key', 'n', '--partitions', '4', ...onKafka],
        lines(100),
      )
      const running = place.start(['run', 'services.ts', '--workers', '2', ...onKafka], {
        env: {
          POLLUX_POSTGRES: address(),
          POLLUX_SCHEMA: schema,
          POLLUX_CREATE_TOPICS: 'true',
        },
      })
      await running.says(/"broker":"kafka .*"store":"postgres .*"fence":.*"message":"starting"/, 2)
      await eventually(
        'all is counted',
        async () => (await counted().catch(() => 0)) === round * 100,
        { deadline: 60_000 },
      )
      running.kill('SIGTERM')
      const { code, stderr } = await running.ended()
      assert.equal(code, 0, stderr)
    }
    const seen = (await place.records(names.to, ...onKafka)).map(({ value }) => value)
    // Each of the keys was counted once in each round.
    assert.equal(seen.filter((value) => value === 1).length, 100)
    assert.equal(seen.filter((value) => value === 2).length, 100)
  } finally {
    await ask(`drop schema ${schema} cascade`)
  }
})
