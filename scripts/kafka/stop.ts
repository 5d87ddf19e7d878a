import { parseArgs } from 'node:util'
import { brokerTitle, stopCluster } from './cluster.ts'
import { runScript } from './failure.ts'

// npm run kafka:stop -- [--port 9092]
await runScript(async () => {
  const { values } = parseArgs({ options: { port: { type: 'string', default: '9092' } } })
  const stopped = await stopCluster(Number(values.port))
  console.log(
    stopped === 0
      ? `${brokerTitle} was not running on port ${values.port}.`
      : `${brokerTitle} stopped.`,
  )
  return 0
})
