import { styleText } from 'node:util'
import { formatNumber } from '../text-table.ts'

export interface ProgressOptions {
  /** Bytes of the whole input; undefined when nobody knows. */
  readonly total: number | undefined
  /** Where it is shown. */
  readonly stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>
  readonly now: () => number
}

const barWidth = 24
const terminalInterval = 100
const lineInterval = 10_000

/** Shows how far the writing is: a bar that moves on a terminal, a line every ten seconds elsewhere. */
export class Progress {
  readonly #options: ProgressOptions
  readonly #start: number
  #shown: number
  #hasBar = false

  constructor(options: ProgressOptions) {
    this.#options = options
    this.#start = options.now()
    this.#shown = this.#start
  }

  /** Milliseconds since the start. */
  get elapsed(): number {
    return this.#options.now() - this.#start
  }

  /** Tells how much was acknowledged, and how many bytes of the input were read for it. */
  update(records: number, bytesRead: number): void {
    const { stream, now } = this.#options
    const interval = stream.isTTY ? terminalInterval : lineInterval
    if (now() - this.#shown < interval) return
    this.#shown = now()
    const { bar, text } = this.#parts(records, bytesRead)
    if (!stream.isTTY) {
      stream.write(`${text}\n`)
      return
    }
    this.#hasBar = true
    // A terminal that does not tell its width says 0. A line that is too long would wrap and stay.
    const width = (stream.columns || 80) - 1
    const hasRoom = bar !== '' && barWidth + 1 + text.length <= width
    stream.write(`\r\u001b[K${hasRoom ? `${bar} ` : ''}${text.slice(0, width)}`)
  }

  /** Takes the bar away. */
  end(): void {
    if (this.#hasBar) this.#options.stream.write('\r\u001b[K')
    this.#hasBar = false
  }

  #parts(records: number, bytesRead: number): { readonly bar: string; readonly text: string } {
    const { total } = this.#options
    const perSecond = formatNumber(Math.round(records / Math.max(0.001, this.elapsed / 1_000)))
    const counts = `${formatNumber(records)} records, ${perSecond}/s`
    if (total === undefined || total === 0) return { bar: '', text: counts }
    const share = Math.min(1, bytesRead / total)
    const full = Math.round(share * barWidth)
    const bar = styleText('green', '█'.repeat(full)) + styleText('dim', '░'.repeat(barWidth - full))
    return { bar, text: `${`${Math.floor(share * 100)} %`.padStart(5)} ${counts}` }
  }
}
