import type { CommandDeclaration } from '../command.ts'
import { connectionSettings, runSettings } from '../settings/settings.ts'

export const runCommand: CommandDeclaration = {
  name: 'run',
  summary: 'Runs the services that a module exports.',
  description:
    'Runs the services that a TypeScript or JavaScript module exports: by name, as default, or in arrays. ' +
    'SIGTERM and SIGINT finish what has begun, then end the process; a second one cuts it short. ' +
    'Without --kafka everything runs on an embedded broker and store in the folder .pollux.',
  examples: [
    'pollux run services.ts',
    'pollux run services.ts --kafka localhost:9092 --create-topics',
    'pollux run services.ts --kafka localhost:9092 --only invoicing,shipping',
    'pollux run services.ts --workers 4 --log-level debug',
  ],
  settings: [...connectionSettings, ...runSettings],
  declare(command) {
    command
      .argument('<module>', 'The file that exports services, as a path.')
      .option('--only <services>', 'Runs only the services of these names, with commas between.')
  },
  async execute(invocation) {
    const { executeRun } = await import('../run/execute-run.ts')
    return executeRun(invocation)
  },
}
