import { parseArgs } from 'node:util'
import { brokerTitle, clusterStatus } from './cluster.ts'
import { runScript } from './failure.ts'
import { brokerPorts } from './layout.ts'

// npm run kafka:status -- [--port 9092]: exit code 0 when all brokers are ready, 3 otherwise.
await runScript(async () => {
  const { values } = parseArgs({ options: { port: { type: 'string', default: '9092' } } })
  const port = Number(values.port)
  const status = await clusterStatus(port)
  if (status.foreign) {
    console.log(`A Kafka broker that was not started here answers on 127.0.0.1:${port}.`)
    return 0
  }
  for (const { index, pid, ready } of status.brokers) {
    const what =
      pid === undefined ? 'not running' : `process ${pid}, ${ready ? 'ready' : 'not ready'}`
    console.log(
      `${brokerTitle} broker ${index} on 127.0.0.1:${brokerPorts(port, index).plain}: ${what}`,
    )
  }
  if (status.brokers.length === 0) console.log(`${brokerTitle} is not running on port ${port}.`)
  return status.brokers.length > 0 && status.brokers.every(({ ready }) => ready) ? 0 : 3
})
