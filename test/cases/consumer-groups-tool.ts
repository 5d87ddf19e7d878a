import { join } from 'node:path'
import { findJava, jarsFolder, runProgram } from '../../scripts/kafka/jars.ts'
import { brokers } from '../kafka/support.ts'

/** Kafka's own `kafka-consumer-groups`, as operators use it. */
export async function consumerGroupsTool(...args: readonly string[]): Promise<string> {
  const [java, jars] = [await findJava(), await jarsFolder()]
  const { code, output } = await runProgram(java, [
    ...['-XX:TieredStopAtLevel=1', '-cp', join(jars, '*')],
    'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
    ...['--bootstrap-server', brokers.join(','), ...args],
  ])
  if (code !== 0 || output.includes('Error:')) throw new Error(`kafka-consumer-groups: ${output}`)
  return output
}
