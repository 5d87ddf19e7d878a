import type { CommandDeclaration } from '../command.ts'
import { connectionSettings } from '../settings/settings.ts'

export const consumeCommand: CommandDeclaration = {
  name: 'consume',
  summary: 'Prints the records of a topic.',
  description:
    'Prints the records of a topic without joining a group: nothing is committed, no service is disturbed. ' +
    'Ends at the end of the log as it was at the start, or goes on with --follow. Values that are JSON are printed ' +
    'as they are, every digit kept.',
  examples: [
    'pollux consume orders --limit 10 --format table',
    'pollux consume orders --from -10m --follow',
    'pollux consume orders --from 2026-11-30T08:00:00Z --partition 0',
    "pollux consume orders | jq -c 'select(.value.total > 100)'",
  ],
  settings: connectionSettings,
  declare(command) {
    command
      .argument('<topic>', 'The topic to read.')
      .option(
        '--from <position>',
        'Where to begin: earliest, latest, an offset (1200), the last n of each partition (-10), a time ago (-10m), ' +
          'a time (2026-11-30T08:00:00Z), or milliseconds since 1970 (@1764489600000). Default: earliest.',
      )
      .option('--partition <n>', 'Only these partitions, with commas between. Default: all.')
      .option('--follow', 'Goes on with what is written later, until Ctrl-C.')
      .option('--limit <n>', 'Ends after so many records.')
      .option(
        '--format <format>',
        'json: one object a line; table; raw: the value’s bytes and a line feed. Default: json.',
      )
      .option(
        '--key-format <format>',
        'auto, text, json, hex or base64. Default: text, else base64.',
      )
      .option(
        '--value-format <format>',
        'auto, text, json, hex or base64. Default: auto: JSON, else text, else base64.',
      )
  },
  async execute(invocation) {
    const { executeConsume } = await import('../consume/execute-consume.ts')
    return executeConsume(invocation)
  },
}
