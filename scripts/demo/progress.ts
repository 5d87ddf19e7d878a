import { styleText } from 'node:util'
import { formatNumber } from '../../src/cli/text-table.ts'

const barWidth = 24
/** Where there is no terminal, a line is written each time so many per cent more are done. */
const lineStep = 10

/** Shows how far a step is: a bar that moves on a terminal, now and then a line elsewhere. */
export class Progress {
  readonly #label: string
  readonly #total: number
  readonly #stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>
  #shown = 0

  constructor(
    label: string,
    total: number,
    stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY'> = process.stdout,
  ) {
    this.#label = label
    this.#total = total
    this.#stream = stream
  }

  update(done: number): void {
    const percent = this.#total === 0 ? 100 : Math.floor((done / this.#total) * 100)
    const counts = `${formatNumber(done)} of ${formatNumber(this.#total)}`
    if (this.#stream.isTTY) {
      const full = Math.round((Math.min(percent, 100) / 100) * barWidth)
      const bar =
        styleText('green', '█'.repeat(full)) + styleText('dim', '░'.repeat(barWidth - full))
      this.#stream.write(`\r\u001b[K${this.#label}  ${bar}  ${percent} %  ${counts}`)
    } else if (percent - this.#shown >= lineStep) {
      this.#shown = percent - (percent % lineStep)
      this.#stream.write(`${this.#label.trimEnd()}: ${counts}\n`)
    }
  }

  /** Ends the bar's line. */
  end(): void {
    if (this.#stream.isTTY) this.#stream.write('\n')
  }
}
