import type { RawMessage } from '../../message.ts'
import { escapeControls } from '../text-table.ts'
import { type RecordFormats, shownBytes, shownTime } from './record-format.ts'

const partitionWidth = 9
const offsetWidth = 10
const timeWidth = 24
const keyWidth = 20

/** The heading of `--format table`. */
export function tableHeading(): string {
  return row('PARTITION', 'OFFSET', 'TIME', 'KEY', 'VALUE')
}

/** A record as one line of `--format table`, at most `width` characters long. */
export function tableRow(
  { partition, offset, timestamp, key, value }: RawMessage,
  formats: RecordFormats,
  width: number,
): string {
  const shownKey = key === null ? '(null)' : shownBytes(key, formats.key).text
  const shownValue = value === null ? '(null)' : shownBytes(value, formats.value).text
  const line = row(
    String(partition),
    String(offset),
    String(shownTime(timestamp) ?? ''),
    cut(escapeControls(shownKey), keyWidth),
    // Cut before the controls are made visible, too: a value may be megabytes long.
    escapeControls(shownValue.slice(0, width)),
  )
  return cut(line, width)
}

function row(partition: string, offset: string, time: string, key: string, value: string): string {
  return [
    partition.padStart(partitionWidth),
    offset.padStart(offsetWidth),
    time.padEnd(timeWidth),
    key.padEnd(keyWidth),
    value,
  ].join('  ')
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`
}
