import type { CommandDeclaration } from '../command.ts'
import { connectionSettings } from '../settings/settings.ts'

export const produceCommand: CommandDeclaration = {
  name: 'produce',
  summary: 'Writes the lines of a file to a topic.',
  description:
    'Writes each line of an NDJSON file, or each row of a CSV file, as one record. NDJSON lines are checked and ' +
    'then written byte for byte; a CSV row becomes a JSON object of texts, named by the header row. Blank lines are ' +
    'passed over. A wrong line stops the command: everything before it is written, nothing of it is.',
  examples: [
    'pollux produce orders --file orders.ndjson --key id',
    'pollux produce prices --file prices.csv --key symbol --numbers price,volume',
    'generate | pollux produce orders --file - --rate 100',
    'pollux produce orders --file orders.ndjson --skip 1200   # go on after 1,200 records',
  ],
  settings: [...connectionSettings, 'createTopics'],
  declare(command) {
    command
      .argument(
        '<topic>',
        'The topic to write to. The embedded broker makes it when it is missing.',
      )
      .requiredOption(
        '--file <path>',
        'The file: .ndjson, .jsonl or .csv; - reads NDJSON from stdin.',
      )
      .option('--format <format>', 'ndjson or csv, when the name of the file does not say it.')
      .option('--key <field>', 'The field whose text becomes the record’s key. Default: no key.')
      .option(
        '--numbers <columns>',
        'CSV columns to write as JSON numbers, digit for digit, with commas between.',
      )
      .option(
        '--rate <n>',
        'At most so many records a second. Default: as fast as they are acknowledged.',
      )
      .option('--batch <n>', 'How many records are sent, and awaited, at once. Default: 500.')
      .option(
        '--partitions <n>',
        'Makes the topic with so many partitions when it is missing. Default: 4.',
      )
      .option(
        '--skip <n>',
        'Passes over the first n records of the file: to go on after a stop. Default: 0.',
      )
      .option('--json', 'Prints the summary as JSON.')
  },
  async execute(invocation) {
    const { executeProduce } = await import('../produce/execute-produce.ts')
    return executeProduce(invocation)
  },
}
