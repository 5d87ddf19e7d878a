// A process that asks the HTTP service at `url` about each of `questions`. Prints `ready` when it runs, and each answer.
import { z } from 'zod'
import { embeddedBroker } from '../../../src/embedded/index.ts'
import { delegate, httpCall, json, run } from '../../../src/index.ts'
import { sendTo } from '../../../src/testing/index.ts'
import { ask, questions } from './scene.ts'

const { url, asked } = JSON.parse(process.argv[2] ?? '{}') as { url: string; asked: string[] }
const service = delegate('asking', {
  input: questions,
  call: ({ value }, context) =>
    httpCall(context, {
      url: `${url}/ask`,
      body: JSON.stringify(value),
      response: json(z.string()),
    }),
  handle: (answer) => console.log(answer),
  timeLimit: '5s',
})
const broker = embeddedBroker()
await broker.admin.createTopics([{ name: questions.name, partitions: 1 }])
await sendTo(broker, ...asked.map((question) => ask(question)))
const runtime = await run(service, { broker })
console.log('ready')
await runtime.done
