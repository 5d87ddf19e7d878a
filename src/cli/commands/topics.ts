import type { CommandDeclaration } from '../command.ts'
import { connectionSettings } from '../settings/settings.ts'

export const topicsCommand: CommandDeclaration = {
  name: 'topics',
  summary: 'Lists the topics.',
  description: 'Lists the topics, with their partitions and how many records are kept in each.',
  examples: ['pollux topics', 'pollux topics --kafka localhost:9092 --json'],
  settings: connectionSettings,
  declare(command) {
    command.option('--json', 'Prints one JSON object a line.')
  },
  async execute(invocation) {
    const { executeTopics } = await import('../inspect/execute-topics.ts')
    return executeTopics(invocation)
  },
}
