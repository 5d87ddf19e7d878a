import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { marketPrices } from '../../examples/bookshop/almanac.ts'
import { orders } from '../../examples/bookshop/topics.ts'
import { root } from '../../scripts/command.ts'
import { embeddedBroker } from '../../src/embedded/index.ts'
import type { OutputMessage } from '../../src/index.ts'
import { sendTo } from '../../src/testing/index.ts'
import { DemoProcess, killDemo, leaveRemains, randomBetween, runDemo } from './demo-process.ts'

// One folder for all, as making its databases takes longer than all that the demo does with them.
let folder: string
let args: readonly string[]

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pollux-demo-'))
  args = ['--folder', folder]
  await leaveRemains(folder)
  await send(marketPrices.message({ key: 'IBM', value: { date: '1999-01-01', price: 1 } }))
})

after(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }))

/** Writes to the demo's broker what is none of the demo's own. */
async function send(...messages: readonly OutputMessage[]): Promise<void> {
  const broker = embeddedBroker({ folder })
  await broker.connect()
  await broker.admin.createTopics(
    [marketPrices, orders].map(({ name }) => ({ name, partitions: 4 })),
  )
  await sendTo(broker, ...messages)
  await broker.close()
}

test('a demo that starts over, is killed while it writes and while it handles, and is stopped by Ctrl-C comes to what follows from the events', async () => {
  const steps = [
    ['Writing events', randomBetween(600, 4_500)],
    ['Handling events', randomBetween(600, 2_500)],
  ] as const
  for (const [index, [step, count]] of steps.entries()) {
    const reset = index === 0 ? ['--reset'] : []
    const { signal, output } = await killDemo([...args, ...reset], step, count)
    assert.equal(signal, 'SIGKILL', `it ended before it could be killed: ${output}`)
  }
  const demo = new DemoProcess(args)
  await demo.reaches('Handling events', 1)
  demo.child.kill('SIGINT')
  const stopped = await demo.ended()
  assert.equal(stopped.code, 130, stopped.output)
  const [, handled = ''] =
    /^Stopped: ([\d,]+) of 5,665 prices are handled\./m.exec(stopped.output) ?? []
  assert.notEqual(handled, '', stopped.output)
  const { code, output } = await runDemo(...args, '--check')
  assert.equal(code, 0, `killed at ${steps.join('; ')}\n${output}`)
  assert.match(
    output,
    new RegExp(`(; |all )${handled} were handled (before|by an earlier run)\\.$`, 'm'),
  )
  assert.doesNotMatch(stopped.output + output, /warn|error/)
})

test('a second run does nothing twice, shows each pattern at work, and where to look further', async () => {
  const { code, output } = await runDemo(...args, '--check')
  assert.equal(code, 0, output)
  assert.match(output, /^0 new prices; all 5,665 were handled by an earlier run\.$/m)
  assert.match(output, /^ {2}came {2}10 books are ready for print;/m)
  assert.match(output, /^ +Dracula +✓ +✓ +- +-$/m)
  assert.match(output, /^ +9781000000030 +Middlemarch +16\.30 +EUR +B-01$/m)
  assert.match(output, /^ {2}came {2}1,216 copies sold, 400 invoices, 6 reprints/m)
  assert.match(output, /^ {2}came {2}36 moods: 12 good, 12 bad, 12 neither; 12 reviews/m)
  assert.match(output, /^ +This time the model was asked nothing\.$/m)
  assert.match(output, /^ +SP500 +5,105 +2000-01-03 +2020-04-17 +3386\.15 +2020-02-19 /m)
  assert.equal([...output.matchAll(/^ {2}✓ /gm)].length, 5, output)
  checkCommands(output)
})

/** The commands that the demo names do what it says of them. */
function checkCommands(output: string): void {
  const commands = [...output.matchAll(/^ {2}npx node (src\/cli\/main\.ts .*?) +# /gm)]
  assert.equal(commands.length, 5, output)
  const outputs = commands.map(([, command = '']) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, command.split(' '), {
      cwd: root,
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${command}: ${stderr}`)
    return stdout
  })
  assert.match(outputs[0] ?? '', /^almanac\.moves +4 +\d,\d{3}$/m)
  assert.match(outputs[1] ?? '', /An Almanac of Prices/)
  assert.match(outputs[2] ?? '', /SP500 fell by 11\.98 %/)
  assert.match(outputs[3] ?? '', /^lag +0$/m)
  assert.match(outputs[4] ?? '', /sell-books/)
}

test('what was sent by somebody else and changes the result is told, and only with --check a failure', async () => {
  await send(
    marketPrices.message({ key: 'IBM', value: { date: '2030-01-01', price: 9_999 } }),
    orders.message({ key: '9781000000016', value: { customer: 'ann', copies: 1, cents: 1 } }),
  )
  const { code, output } = await runDemo(...args, '--check')
  assert.equal(code, 1, output)
  assert.match(output, /^ {2}✗ {5}Wrong in 1 place\.$/m)
  assert.match(output, /^ {2}sales of 9781000000016:\n {4}expected .*\n {4}found /m)
  assert.match(output, /^ {2}state of IBM:\n {4}expected .*"count":123.*\n {4}found .*"count":124/m)
  assert.match(output, /^ {2}almanac\.moves of IBM: expected 122, found 123$/m)
  assert.match(
    output,
    /^ {2}almanac\.highs of IBM, number \d+:\n {4}expected nothing\n {4}found .*9999/m,
  )
})
