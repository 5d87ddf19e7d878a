import { PolluxError } from '../../errors.ts'
import { integer, oneOf, yesNo } from '../../options.ts'
import type { Broker, LogRange, Position } from '../../ports/broker.ts'
import { checkTopicName } from '../../topic.ts'
import type { Invocation } from '../command.ts'
import { withBroker } from '../connect.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { readFlags } from '../flags.ts'
import { watchStopSignals } from '../stop-signals.ts'
import { type StartPosition, startPosition } from './parse-from.ts'
import { readRecords } from './read-records.ts'
import { type BytesFormat, bytesFormats, recordJson } from './record-format.ts'
import { tableHeading, tableRow } from './record-table.ts'
import { startPositions } from './start-positions.ts'

interface ConsumeFlags {
  from: StartPosition
  partition: readonly number[]
  follow: boolean
  limit: number
  format: 'json' | 'table' | 'raw'
  keyFormat: BytesFormat
  valueFormat: BytesFormat
}

const bytesOption = oneOf<BytesFormat>({ words: bytesFormats, default: 'auto', help: '' })

const flagTable = {
  from: startPosition,
  partition: { expected: 'partition numbers with commas between', read: partitionList },
  follow: yesNo({ default: false, help: '' }),
  limit: integer({ min: 1, max: Number.MAX_SAFE_INTEGER, default: 1, help: '' }),
  format: oneOf<ConsumeFlags['format']>({
    words: ['json', 'table', 'raw'],
    default: 'json',
    help: '',
  }),
  keyFormat: bytesOption,
  valueFormat: bytesOption,
}

function partitionList(value: unknown): readonly number[] | undefined {
  const parts = String(value).split(',')
  return parts.every((part) => /^\d{1,9}$/.test(part)) ? parts.map(Number) : undefined
}

/** `pollux consume <topic>` */
export async function executeConsume(invocation: Invocation): Promise<ExitCode> {
  const [topic = ''] = invocation.args
  checkTopicName(topic)
  const flags = readFlags<ConsumeFlags>(flagTable, invocation.flags)
  const { output, logger, settings } = invocation
  using signals = watchStopSignals(() => process.exit(exitCodes.interrupted))
  const write = recordWriter(invocation, flags.format ?? 'json', {
    key: flags.keyFormat ?? 'text',
    value: flags.valueFormat ?? 'auto',
  })
  await withBroker(settings, { mustExist: true, logger }, async (broker) => {
    const { ranges, positions } = await placeReader(broker, topic, flags)
    await readRecords({
      broker,
      positions,
      ends: flags.follow === true ? undefined : ranges,
      limit: flags.limit ?? Number.POSITIVE_INFINITY,
      stop: AbortSignal.any([signals.signal, output.gone]),
      logger,
      write,
    })
  })
  return exitCodes.ok
}

async function placeReader(
  { admin }: Broker,
  topic: string,
  flags: {
    readonly from: StartPosition | undefined
    readonly partition: readonly number[] | undefined
  },
): Promise<{ readonly ranges: readonly LogRange[]; readonly positions: readonly Position[] }> {
  const all = await admin.ranges([topic])
  const wanted = flags.partition
  const unknown = wanted?.find((number) => !all.some(({ partition }) => partition === number))
  if (unknown !== undefined) {
    throw new PolluxError(
      'POLLUX_OPTION_INVALID',
      `The topic ${topic} has no partition ${unknown}.`,
      {
        expected: `a number from 0 to ${all.length - 1}`,
      },
    )
  }
  const ranges = all.filter(({ partition }) => wanted === undefined || wanted.includes(partition))
  const positions = await startPositions(
    admin,
    ranges,
    flags.from ?? { kind: 'earliest' },
    Date.now(),
  )
  return { ranges, positions }
}

function recordWriter(
  { output }: Invocation,
  format: ConsumeFlags['format'],
  formats: { readonly key: BytesFormat; readonly value: BytesFormat },
): Parameters<typeof readRecords>[0]['write'] {
  if (format === 'json') {
    return (records) =>
      output.write(records.map((record) => `${recordJson(record, formats)}\n`).join(''))
  }
  if (format === 'raw') {
    const lineFeed = Buffer.from('\n')
    return (records) =>
      output.write(
        Buffer.concat(records.flatMap(({ value }) => [value ?? Buffer.alloc(0), lineFeed])),
      )
  }
  const width = process.stdout.columns ?? 160
  let heading = `${tableHeading()}\n`
  return async (records) => {
    await output.write(
      `${heading}${records.map((record) => `${tableRow(record, formats, width)}\n`).join('')}`,
    )
    heading = ''
  }
}
