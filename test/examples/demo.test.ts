import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { prices } from '../../examples/stocks/services.ts'
import { root } from '../../scripts/command.ts'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { encodeRecord } from '../../src/engine/outputs.ts'
import { DemoProcess, killDemo, randomBetween, runDemo } from './demo-process.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pollux-demo-'))
})

afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }))

test('the demo comes to what the files say, and a second run does nothing twice', async () => {
  const first = await runDemo('--folder', folder, '--check')
  assert.equal(first.code, 0, first.output)
  assert.match(first.output, /^SP500 +5,105 +2000-01-03 +2020-04-17 +3386\.15 +2020-02-19 /m)
  assert.match(first.output, /^5,665 prices handled in [\d.]+ s; 0 were handled before\.$/m)
  assert.match(
    first.output,
    /^Written to the topics: 5,659 stocks\.moves, 327 stocks\.highs, 196 stocks\.alerts\.$/m,
  )
  const second = await runDemo('--folder', folder, '--check')
  assert.equal(second.code, 0, second.output)
  assert.match(second.output, /^0 new prices; all 5,665 were handled by an earlier run\.$/m)
  assert.match(
    second.output,
    /^Written to the topics: 5,659 stocks\.moves, 327 stocks\.highs, 196 stocks\.alerts\.$/m,
  )
  assert.doesNotMatch(first.output + second.output, /warn|error/)
  await checkCommands()
  await checkDifference()
  const third = await runDemo('--folder', folder, '--reset', '--check')
  assert.equal(third.code, 0, third.output)
  assert.match(third.output, /^5,665 prices handled in [\d.]+ s; 0 were handled before\.$/m)
})

/** The commands that the demo names do what it says of them. */
async function checkCommands(): Promise<void> {
  const { output } = await runDemo('--folder', folder)
  const commands = [...output.matchAll(/^ {2}npx node (src\/cli\/main\.ts .*?) +# /gm)]
  assert.equal(commands.length, 4, output)
  const outputs = commands.map(([, command = '']) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, command.split(' '), {
      cwd: root,
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${command}: ${stderr}`)
    return stdout
  })
  assert.match(outputs[0] ?? '', /^stocks\.moves +4 +5,659$/m)
  assert.match(outputs[1] ?? '', /SP500 fell by 11\.98 %/)
  assert.equal(outputs[2]?.trim().split('\n').length, 3)
  assert.match(outputs[3] ?? '', /^lag +0$/m)
}

/** A price that is in no file changes the state: --check must see it. */
async function checkDifference(): Promise<void> {
  const broker = embeddedBroker({ folder })
  const producer = await broker.producer()
  const value = { date: '2030-01-01', price: 9_999 }
  await producer.send([encodeRecord(prices.message({ key: 'IBM', value }))])
  await broker.close()
  const { code, output } = await runDemo('--folder', folder, '--check')
  assert.equal(code, 1, output)
  assert.match(output, /^ {2}state of IBM:\n {4}expected .*"count":123.*\n {4}found .*"count":124/m)
  assert.match(output, /^ {2}stocks\.moves of IBM: expected 122, found 123$/m)
  assert.match(
    output,
    /^ {2}stocks\.highs of IBM, number \d+:\n {4}expected nothing\n {4}found .*9999/m,
  )
}

test('a demo killed while it writes and twice while it handles comes to the same end', async () => {
  const args = ['--folder', folder]
  const steps = [
    ['Writing prices', randomBetween(600, 4_500)],
    ['Handling prices', randomBetween(600, 2_000)],
    ['Handling prices', randomBetween(2_500, 4_500)],
  ] as const
  for (const [step, count] of steps) {
    const { signal, output } = await killDemo(args, step, count)
    assert.equal(signal, 'SIGKILL', `it ended before it could be killed: ${output}`)
  }
  const { code, output } = await runDemo(...args, '--check')
  assert.equal(code, 0, `killed at ${steps.join('; ')}\n${output}`)
  assert.match(output, /^[\d,]+ prices handled in [\d.]+ s; [1-9][\d,]+ were handled before\.$/m)
})

test('Ctrl-C finishes what has begun, and the next run goes on from there', async () => {
  const demo = new DemoProcess(['--folder', folder])
  await demo.reaches('Handling prices', 600)
  demo.child.kill('SIGINT')
  const stopped = await demo.ended()
  assert.equal(stopped.code, 130, stopped.output)
  const [, handled = ''] =
    /^Stopped: ([\d,]+) of 5,665 prices are handled\./m.exec(stopped.output) ?? []
  assert.notEqual(handled, '', stopped.output)
  const { code, output } = await runDemo('--folder', folder, '--check')
  assert.equal(code, 0, output)
  assert.match(output, new RegExp(`; ${handled} were handled before\\.$`, 'm'))
  assert.doesNotMatch(output, /sent twice/)
})
