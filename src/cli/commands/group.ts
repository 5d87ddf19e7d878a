import type { CommandDeclaration } from '../command.ts'
import { connectionSettings } from '../settings/settings.ts'

export const groupCommand: CommandDeclaration = {
  name: 'group',
  summary: 'Shows a consumer group: its members, positions and lag.',
  description:
    'Shows the state of a consumer group (a service is the group of its name), its members, and for each partition ' +
    'the committed offset, the end of the log and the lag between them. A partition without a commit has no lag.',
  examples: ['pollux group invoicing', 'pollux group invoicing --kafka localhost:9092 --json'],
  settings: connectionSettings,
  declare(command) {
    command.argument('<name>', 'The name of the group.').option('--json', 'Prints one JSON object.')
  },
  async execute(invocation) {
    const { executeGroup } = await import('../inspect/execute-group.ts')
    return executeGroup(invocation)
  },
}
