// Starts the model in a process of its own and the service; sends some tickets and prints their subjects, although the model has
// too much to do, dies, and comes back meanwhile.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { defineService, run } from '../../src/index.ts'
import { eventually, memoryStore, sendTo } from '../../src/testing/index.ts'
import { labels, labelTickets, tickets } from './services.ts'

async function startModel(port = ''): Promise<{ model: ChildProcess; address: string }> {
  const script = fileURLToPath(new URL('model.ts', import.meta.url))
  const model = spawn(process.execPath, [script, port], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [address] = (await once(createInterface(model.stdout), 'line')) as [string]
  return { model, address }
}

let printed = 0
const print = defineService('print', {
  inputs: [labels],
  handle({ key, value: { subject, probability } }) {
    console.log(`${key} ${subject} (${probability})`)
    printed += 1
  },
})

const first = await startModel()
const broker = embeddedBroker()
await using _runtime = await run([labelTickets(first.address), print], {
  broker,
  // As the broker's memory, it is gone with this process.
  store: memoryStore(),
  createTopics: true,
})

async function send(...texts: readonly string[]): Promise<void> {
  const before = printed
  const messages = texts.map((text, index) =>
    tickets.message({ key: `ticket ${before + index + 1}`, value: { text, revision: 1 } }),
  )
  await sendTo(broker, ...messages)
}
async function allPrinted(count: number): Promise<void> {
  await eventually('all subjects are printed', () => printed === count)
}

await send(
  'Where is my package? The tracking has not changed for a week.',
  'You charged my card two times for the same order.',
)
await allPrinted(2)
console.log('The model has too much to do, and asks for a second.')
await fetch(`${first.address}/behave`, {
  method: 'POST',
  body: JSON.stringify([{ status: 429, retryAfter: 1 }]),
})
await send('I would like to return the boots, they are too small.')
await allPrinted(3)
console.log('The model dies, and comes back.')
first.model.kill('SIGKILL')
await send(
  'I cannot log in, the password is refused.',
  'The toaster broke, it does not work any more.',
)
const second = await startModel(new URL(first.address).port)
await allPrinted(5)
second.model.kill()
