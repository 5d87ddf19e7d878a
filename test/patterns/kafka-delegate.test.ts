import assert from 'node:assert/strict'
import { test } from 'node:test'
import { delegate, run, text, topic } from '../../src/index.ts'
import { areSettled, eventually, messagesOf, sendTo } from '../../src/testing/index.ts'
import { connection, keepingLogger, makeTopic, uniqueName } from '../kafka/support.ts'

test('case 12: of three members one hangs in a call for longer than the poll limit: nobody loses membership, other keys go on, it is cut and repeated', async () => {
  const broker = connection()
  await broker.connect()
  const codecs = { key: text, value: text }
  const input = topic(await makeTopic(broker, uniqueName('hang-from'), 3), codecs)
  const output = topic(await makeTopic(broker, uniqueName('hang-to'), 1), codecs)
  const hung: AbortSignal[] = []
  const service = delegate(uniqueName('hang'), {
    input,
    outputs: [output],
    call: ({ key }, { signal, attempt }) => {
      if (key !== 'K1' || attempt > 1) return `${key} ${attempt}`
      hung.push(signal)
      return new Promise<string>(() => {})
    },
    handle: (value, { key }) => output.message({ key, value }),
    // Longer than the poll limit, to show that it does not matter.
    timeLimit: '9s',
    concurrency: 4,
  })
  const { lines, logger } = keepingLogger()
  const members = await Promise.all(
    [1, 2, 3].map(() => {
      const member = connection({ sessionTimeout: '6s', pollLimit: '6s' })
      return run(service, { broker: member, logger, signals: false })
    }),
  )
  const group = () => broker.admin.group(service.name)
  const before = await eventually('each member has a partition', async () => {
    const { state, members: all } = await group()
    const isShared = all.length === 3 && all.every(({ partitions }) => partitions.length === 1)
    return state === 'Stable' && isShared && all
  })
  lines.length = 0
  await sendTo(broker, input.message({ key: 'K1', value: '' }))
  await eventually('it hangs', () => hung.length === 1)
  const others = Array.from({ length: 50 }, (_, index) => `key-${index}`)
  await sendTo(broker, ...others.map((key) => input.message({ key, value: '' })))
  const answered = async (): Promise<string[]> =>
    (await messagesOf(broker, output)).map(({ value }) => value)
  await eventually('the others are answered', async () => (await answered()).length === 50)
  assert.equal(hung[0]?.aborted, false, 'meanwhile it hangs')
  await eventually('all is answered', () => areSettled(broker, [service]))
  assert.equal((await answered()).at(-1), 'K1 2')
  assert.equal(hung[0]?.aborted, true)
  assert.deepEqual((await group()).members, before)
  assert.deepEqual(
    lines.filter((line) => /^(warn|error)|lost|revoked/.test(line)),
    [],
  )
  await Promise.all(members.map((member) => member.stop()))
  await broker.close()
})
