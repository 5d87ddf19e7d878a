import { parseArgs } from 'node:util'
import { brokerTitle, startCluster } from './cluster.ts'
import { runScript } from './failure.ts'

// npm run kafka:start -- [--brokers 3] [--port 9092] [--fresh]
await runScript(async () => {
  const { values } = parseArgs({
    options: {
      brokers: { type: 'string' },
      port: { type: 'string', default: '9092' },
      fresh: { type: 'boolean', default: false },
    },
  })
  const cluster = await startCluster({
    port: Number(values.port),
    fresh: values.fresh,
    ...(values.brokers === undefined ? {} : { brokers: Number(values.brokers) }),
  })
  const where = cluster.bootstrap.join(',')
  if (cluster.state === 'foreign')
    console.log(
      `A Kafka broker that was not started here answers on ${where}; it is used as it is.`,
    )
  else if (cluster.state === 'running')
    console.log(`${brokerTitle} is running already on ${where}.`)
  else console.log(`${brokerTitle} is ready on ${where}.`)
  return 0
})
