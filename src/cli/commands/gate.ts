import { Argument } from 'commander'
import type { CommandDeclaration } from '../command.ts'
import { storeSettings } from '../settings/settings.ts'

export const gateCommand: CommandDeclaration = {
  name: 'gate',
  summary: 'Says which gates wait, for what, and since when.',
  description:
    'Looks into the tables of the gates that a module exports. list: those that wait, longest first. show: a row with ' +
    'its facts and what was kept of them. explain: in a sentence, what a key waits for and since when, or when it opened ' +
    'or expired. It locks nothing and changes nothing, and the service may run meanwhile on PostgreSQL.',
  examples: [
    'pollux gate list services.ts --postgres postgres://shop@localhost/shop',
    'pollux gate list services.ts --waiting-for price --older-than 3h --limit 20',
    'pollux gate show services.ts dune --json',
    'pollux gate explain services.ts dune',
  ],
  settings: [...storeSettings, 'postgresConnectTimeout', 'postgresStatementTimeout'],
  declare(command) {
    command
      .addArgument(new Argument('<action>', 'What to do.').choices(['list', 'show', 'explain']))
      .argument('<module>', 'The file that exports the gates, as a path.')
      .argument('[key]', 'The key that show and explain are about.')
      .option('--only <services>', 'Only the gates of these names, with commas between.')
      .option('--waiting-for <fact>', 'list: only those that have not this fact.')
      .option('--older-than <duration>', 'list: only those that have waited so long, such as 3h.')
      .option('--limit <n>', 'list: at most so many of each gate. Default: 100.')
      .option('--json', 'Prints one JSON object a line.')
  },
  async execute(invocation) {
    const { executeGate } = await import('../gate/execute-gate.ts')
    return executeGate(invocation)
  },
}
