import type { Invocation } from '../command.ts'
import { withBroker } from '../connect.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { formatNumber, textTable } from '../text-table.ts'

/** `pollux topics` */
export async function executeTopics({
  flags,
  settings,
  output,
  logger,
}: Invocation): Promise<ExitCode> {
  const topics = await withBroker(settings, { mustExist: true, logger }, async ({ admin }) => {
    const found = await admin.topics()
    const ranges = found.length === 0 ? [] : await admin.ranges(found.map((topic) => topic.name))
    return found.map(({ name, partitions }) => {
      const own = ranges.filter((range) => range.topic === name)
      return {
        name,
        partitions,
        messages: own.reduce((sum, { earliest, latest }) => sum + latest - earliest, 0),
      }
    })
  })
  if (flags['json'] === true) {
    for (const topic of topics) await output.write(`${JSON.stringify(topic)}\n`)
    return exitCodes.ok
  }
  const rows = topics.map(({ name, partitions, messages }) => [
    name,
    formatNumber(partitions),
    formatNumber(messages),
  ])
  await output.write(
    textTable(
      [
        { heading: 'TOPIC' },
        { heading: 'PARTITIONS', align: 'right' },
        { heading: 'MESSAGES', align: 'right' },
      ],
      rows,
    ),
  )
  return exitCodes.ok
}
