import { PolluxError } from '../../errors.ts'
import type { Invocation } from '../command.ts'
import { withBroker } from '../connect.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { escapeControls, formatNumber, textTable } from '../text-table.ts'
import { type GroupReport, readGroupReport } from './group-report.ts'

/** `pollux group <name>` */
export async function executeGroup({
  args,
  flags,
  settings,
  output,
  logger,
}: Invocation): Promise<ExitCode> {
  const [name = ''] = args
  const report = await withBroker(
    settings,
    { mustExist: true, logger },
    async ({ admin, name: broker }) => {
      const found = await readGroupReport(admin, name)
      if (found.state !== 'Dead' || found.partitions.length > 0) return found
      throw new PolluxError('POLLUX_OPTION_INVALID', `There is no group '${name}' on ${broker}.`, {
        hint: '`pollux groups` lists the groups.',
      })
    },
  )
  await output.write(flags['json'] === true ? `${JSON.stringify(report)}\n` : groupText(report))
  return exitCodes.ok
}

/** The report for people. */
export function groupText(report: GroupReport): string {
  const { group, state, members, partitions, lag, withoutOffset } = report
  const missing =
    withoutOffset === 0
      ? ''
      : `, and ${withoutOffset} partition${withoutOffset === 1 ? '' : 's'} without a commit`
  const head = [
    `group    ${escapeControls(group)}`,
    `state    ${state}`,
    `lag      ${formatNumber(lag)}${missing}`,
    `members  ${members.length}`,
  ]
  const memberTable = textTable(
    [
      { heading: 'MEMBER' },
      { heading: 'CLIENT' },
      { heading: 'HOST' },
      { heading: 'PARTITIONS', align: 'right' },
    ],
    members.map((member) => [
      member.id,
      member.clientId,
      member.host,
      formatNumber(member.partitions),
    ]),
  )
  const partitionTable = textTable(
    [
      { heading: 'TOPIC' },
      { heading: 'PARTITION', align: 'right' },
      { heading: 'OFFSET', align: 'right' },
      { heading: 'END', align: 'right' },
      { heading: 'LAG', align: 'right' },
      { heading: 'MEMBER' },
    ],
    partitions.map((place) => [
      place.topic,
      String(place.partition),
      place.offset === null ? 'none' : formatNumber(place.offset),
      place.end === null ? 'topic gone' : formatNumber(place.end),
      place.lag === null ? 'unknown' : formatNumber(place.lag),
      place.member ?? 'none',
    ]),
  )
  const parts = [`${head.join('\n')}\n`]
  if (members.length > 0) parts.push(memberTable)
  if (partitions.length > 0) parts.push(partitionTable)
  return parts.join('\n')
}
