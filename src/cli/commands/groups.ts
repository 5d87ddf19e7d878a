import type { CommandDeclaration } from '../command.ts'
import { connectionSettings } from '../settings/settings.ts'

export const groupsCommand: CommandDeclaration = {
  name: 'groups',
  summary: 'Lists the consumer groups.',
  description: 'Lists the consumer groups. A service is the group of its name.',
  examples: ['pollux groups', 'pollux groups --kafka localhost:9092 --json'],
  settings: connectionSettings,
  declare(command) {
    command.option('--json', 'Prints one JSON object a line.')
  },
  async execute(invocation) {
    const { executeGroups } = await import('../inspect/execute-groups.ts')
    return executeGroups(invocation)
  },
}
