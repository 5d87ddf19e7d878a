import { makeClientReady } from './client/ready.ts'
import { runScript } from './failure.ts'

// npm run kafka:client: makes the native part of the Kafka client ready for this Node.
await runScript(async () => {
  console.log(await makeClientReady())
  return 0
})
