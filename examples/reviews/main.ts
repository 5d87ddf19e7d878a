// Starts the model in a process of its own, and the services; sends some reviews and prints their moods.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { embeddedBroker } from '../../src/embedded/index.ts'
import { defineService, run } from '../../src/index.ts'
import { sendTo } from '../../src/testing/index.ts'
import { feelMoods, moods, reviews, sortByLanguage } from './services.ts'

const model = spawn(process.execPath, [new URL('model.ts', import.meta.url).pathname], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const [address] = (await once(createInterface(model.stdout), 'line')) as [string]

const examples = [
  ['en', 'I love this lamp, it is wonderful!'],
  ['en', 'Terrible. It broke after a day.'],
  ['de', 'Eine Lampe.'],
  ['en', 'A lamp.'],
] as const

let printed = 0
const print = defineService('print', {
  inputs: [moods],
  handle({ key, value }) {
    console.log(
      `${key} ${value.item} ${value.mood > 0 ? 'good' : value.mood < 0 ? 'bad' : 'neither'}`,
    )
    printed += 1
    if (printed === examples.filter(([language]) => language === 'en').length) void runtime.stop()
  },
})
const broker = embeddedBroker()
const runtime = await run([sortByLanguage, feelMoods(address), print], {
  broker,
  createTopics: true,
})
await sendTo(
  broker,
  ...examples.map(([language, text], index) =>
    reviews.message({ key: `r${index}`, value: { item: 'lamp', text }, headers: { language } }),
  ),
)
await runtime.done
model.kill()
