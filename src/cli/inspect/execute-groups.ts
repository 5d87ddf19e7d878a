import type { Invocation } from '../command.ts'
import { withBroker } from '../connect.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { textTable } from '../text-table.ts'

/** `pollux groups` */
export async function executeGroups({
  flags,
  settings,
  output,
  logger,
}: Invocation): Promise<ExitCode> {
  const names = await withBroker(settings, { mustExist: true, logger }, ({ admin }) =>
    admin.groups(),
  )
  if (flags['json'] === true) {
    for (const group of names) await output.write(`${JSON.stringify({ group })}\n`)
  } else {
    const rows = names.map((name) => [name])
    await output.write(textTable([{ heading: 'GROUP' }], rows))
  }
  return exitCodes.ok
}
