import { PolluxError } from '../../errors.ts'
import { integer, oneOf, text } from '../../options.ts'
import type { Broker } from '../../ports/broker.ts'
import { checkTopicName } from '../../topic.ts'
import type { Invocation } from '../command.ts'
import { withBroker } from '../connect.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { nameList, readFlags } from '../flags.ts'
import { isKafkaChosen } from '../settings/resolve-settings.ts'
import { watchStopSignals } from '../stop-signals.ts'
import { formatNumber } from '../text-table.ts'
import { csvRecords } from './csv-records.ts'
import { type InputRecords, LineProblem } from './input-record.ts'
import { jsonRecords } from './json-records.ts'
import { type Input, type InputFormat, openInput } from './open-input.ts'
import { Progress } from './progress.ts'
import { type SendTotals, sendRecords } from './send-records.ts'

interface ProduceFlags {
  file: string
  format: InputFormat
  key: string
  numbers: readonly string[]
  rate: number
  batch: number
  partitions: number
  skip: number
}

const flagTable = {
  file: text<string>({ default: '', help: '' }),
  format: oneOf<InputFormat>({ words: ['ndjson', 'csv'], default: 'ndjson', help: '' }),
  key: text<string>({ default: '', help: '' }),
  numbers: nameList,
  rate: integer({ min: 1, max: 10_000_000, default: 1, help: '' }),
  batch: integer({ min: 1, max: 100_000, default: 500, help: '' }),
  partitions: integer({ min: 1, max: 10_000, default: 4, help: '' }),
  skip: integer({ min: 0, max: Number.MAX_SAFE_INTEGER, default: 0, help: '' }),
}

type Flags = ReturnType<typeof readFlags<ProduceFlags>>

/** `pollux produce <topic>` */
export async function executeProduce(invocation: Invocation): Promise<ExitCode> {
  const [topic = ''] = invocation.args
  checkTopicName(topic)
  const flags = readFlags<ProduceFlags>(flagTable, invocation.flags)
  using signals = watchStopSignals(() => process.exit(exitCodes.interrupted))
  const input = await openInput(flags.file ?? '-', flags.format, signals.signal)
  const records = recordsOf(input, flags)
  const progress = new Progress({
    total: input.size,
    stream: process.stderr,
    now: () => performance.now(),
  })
  let totals: SendTotals = { records: 0, bytes: 0 }
  let isFinished = false
  try {
    await withBroker(invocation.settings, { logger: invocation.logger }, async (broker) => {
      await ensureTopic(broker, topic, flags, invocation)
      const producer = await broker.producer()
      try {
        await sendRecords({
          producer,
          topic,
          records,
          batch: flags.batch ?? 500,
          rate: flags.rate,
          stop: signals.signal,
          onAcknowledged(now) {
            totals = now
            progress.update(now.records, input.bytesRead)
          },
        })
      } finally {
        await producer.close()
      }
    })
    isFinished = !signals.signal.aborted
  } catch (error) {
    progress.end()
    if (invocation.flags['json'] === true) await writeSummary()
    throw explain(error, input, totals, flags.skip ?? 0)
  }
  progress.end()
  await writeSummary()
  if (isFinished) return exitCodes.ok
  process.stderr.write(
    `Stopped before the end of ${input.name}. Go on with --skip ${(flags.skip ?? 0) + totals.records}.\n`,
  )
  return exitCodes.interrupted

  async function writeSummary(): Promise<void> {
    const seconds = Math.round(progress.elapsed) / 1_000
    const { records: count, bytes } = totals
    const line =
      invocation.flags['json'] === true
        ? JSON.stringify({ topic, records: count, bytes, seconds, finished: isFinished })
        : `Wrote ${formatNumber(count)} ${count === 1 ? 'record' : 'records'} (${formatNumber(bytes)} bytes) to ${topic} in ${formatNumber(seconds)} s.`
    await invocation.output.write(`${line}\n`)
  }
}

function recordsOf(input: Input, { key, numbers, skip = 0 }: Flags): InputRecords {
  if (input.format === 'csv')
    return csvRecords(input.chunks(), { key, numbers: numbers ?? [], skip })
  if (numbers === undefined) return jsonRecords(input.chunks(), { key, skip })
  throw new PolluxError('POLLUX_OPTION_INVALID', '--numbers is for CSV files only.', {
    found: `${input.name}, which is NDJSON`,
    hint: 'NDJSON lines are written as they are, numbers included.',
  })
}

async function ensureTopic(
  broker: Broker,
  topic: string,
  flags: Flags,
  { settings, logger }: Invocation,
): Promise<void> {
  const existing = (await broker.admin.topics()).find(({ name }) => name === topic)
  if (existing !== undefined) {
    if (flags.partitions !== undefined && flags.partitions !== existing.partitions) {
      logger.warn(
        { topic },
        `the topic exists with ${existing.partitions} partitions; --partitions has no effect`,
      )
    }
    return
  }
  if (
    isKafkaChosen(settings) &&
    flags.partitions === undefined &&
    !settings.settings.createTopics
  ) {
    throw new PolluxError(
      'POLLUX_TOPIC_UNKNOWN',
      `There is no topic '${topic}' on ${broker.name}.`,
      {
        hint: '--create-topics makes it with 4 partitions, --partitions n with as many as you want.',
      },
    )
  }
  await broker.admin.createTopics([{ name: topic, partitions: flags.partitions ?? 4 }])
}

/** Says how far it got, so that the rest can be written later. */
function explain(error: unknown, input: Input, { records }: SendTotals, skip: number): unknown {
  if (!(error instanceof LineProblem)) return error
  const { line, expected, found } = error
  const before = records === 1 ? '1 record' : `${formatNumber(records)} records`
  return new PolluxError(
    'POLLUX_FILE_INVALID',
    `Line ${line} of ${input.name} is wrong; ${before} before it ${records === 1 ? 'was' : 'were'} written and acknowledged.`,
    {
      expected,
      found,
      hint: `Mend the line, then go on with --skip ${skip + records}.`,
    },
  )
}
