import type { CommandDeclaration } from '../command.ts'
import { storeSettings } from '../settings/settings.ts'

export const explainCommand: CommandDeclaration = {
  name: 'explain',
  summary: 'Says what is promised for the services of a module, and what is not.',
  description:
    'Says for each service that a module exports what is promised and why: order, idempotency, where state lives, how ' +
    'outputs are published, what becomes of a message when the process dies at each point of its way, what is not ' +
    'promised, and what is worth a look. It runs nothing and connects to nothing.',
  examples: ['pollux explain services.ts', 'pollux explain services.ts --only invoicing --json'],
  settings: storeSettings,
  declare(command) {
    command
      .argument('<module>', 'The file that exports services, as a path.')
      .option('--only <services>', 'Only the services of these names, with commas between.')
      .option('--json', 'Prints one JSON object a line.')
  },
  async execute(invocation) {
    const { executeExplain } = await import('../explain/execute-explain.ts')
    return executeExplain(invocation)
  },
}
