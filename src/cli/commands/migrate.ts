import { Option } from 'commander'
import type { CommandDeclaration } from '../command.ts'
import { storeSettings } from '../settings/settings.ts'

export const migrateCommand: CommandDeclaration = {
  name: 'migrate',
  summary: 'Brings the tables of the store up to date.',
  description:
    'Takes the migrations that the tables of the store have not had yet, each in a transaction of its own. Services of ' +
    'the version before go on meanwhile. --dry-run prints their SQL instead, for whoever runs it by hand; --verify ' +
    'compares the tables with what this version needs, and ends with code 1 when they differ.',
  examples: [
    'pollux migrate --postgres postgres://owner@db:5432/shop',
    'pollux migrate --postgres postgres://owner@db:5432/shop --dry-run > migration.sql',
    'pollux migrate --verify --json',
  ],
  settings: [...storeSettings, 'postgresConnectTimeout', 'postgresStatementTimeout'],
  declare(command) {
    command
      .option('--dry-run', 'Prints the SQL that would be executed, and executes none of it.')
      .addOption(
        new Option('--verify', 'Compares the tables and changes nothing.').conflicts('dryRun'),
      )
      .option('--json', 'Prints one JSON object.')
  },
  async execute(invocation) {
    const { executeMigrate } = await import('../migrate/execute-migrate.ts')
    return executeMigrate(invocation)
  },
}
