import type { CrashMoment } from '../../crash-outcomes.ts'
import type { Choice, Explanation } from '../../explain.ts'
import { escapeControls } from '../text-table.ts'

const lineWidth = 100
const labelWidth = 16

const moments: Readonly<Record<CrashMoment, string>> = {
  polled: 'polled',
  handled: 'handled',
  stored: 'store committed',
  published: 'published, not acknowledged',
  acknowledged: 'acknowledged',
  committed: 'offset committed',
}

/** An explanation for people. `store` is the one that the configuration names, when the service needs one. */
export function explanationText(explanation: Explanation, store: string | null): string {
  const { service, guarantee, inputs, outputs, order, idempotency, state, publish } = explanation
  const { fence, outsideReset, failures, schedule } = explanation
  const kept = store === null ? state.meaning : `${state.meaning} Here it is ${store}.`
  return [
    escapeControls(service),
    indented(guarantee),
    '',
    labelled('inputs', inputs.join(', ')),
    labelled('outputs', outputs.length === 0 ? 'none' : outputs.join(', ')),
    labelled('order', chosen(order)),
    labelled('idempotency', chosen(idempotency)),
    labelled('state', kept),
    labelled('publish', chosen(publish)),
    labelled('fence', chosen(fence)),
    labelled('outside reset', chosen(outsideReset)),
    labelled('failures', chosen(failures)),
    ...(schedule === null ? [] : [labelled('schedule', chosen(schedule))]),
    '',
    ...crashLines(explanation),
    ...list('Not promised', explanation.notPromised),
    ...list('Worth a look', explanation.hints),
    '',
  ].join('\n')
}

function chosen({ choice, meaning }: Choice): string {
  return `${choice}. ${meaning}`
}

/** The table of crash points: how far the message was, whether its handler runs again, and what else follows. */
function crashLines({ crashOutcomes }: Explanation): string[] {
  const [reached, again] = ['  when killed after', 'handled again']
  const width = Math.max(
    ...crashOutcomes.map(({ moment }) => moments[moment].length + 2),
    reached.length,
  )
  const start = width + again.length + 4
  return [
    `${reached.padEnd(width)}  ${again}`,
    ...crashOutcomes.map(({ moment, isHandledAgain, meaning }) => {
      const row = `${`  ${moments[moment]}`.padEnd(width)}  ${(isHandledAgain ? 'yes' : 'no').padEnd(again.length)}  `
      return row + wrapped(meaning, start)
    }),
  ]
}

function list(title: string, sentences: readonly string[]): string[] {
  if (sentences.length === 0) return []
  return ['', `  ${title}`, ...sentences.map((sentence) => `  - ${wrapped(sentence, 4)}`)]
}

function labelled(label: string, text: string): string {
  return `  ${label.padEnd(labelWidth - 2)}${wrapped(text, labelWidth)}`
}

function indented(text: string): string {
  return `  ${wrapped(text, 2)}`
}

/** Text in lines of the usual width, the later ones indented. */
function wrapped(text: string, indent: number): string {
  const lines: string[] = []
  let line = ''
  for (const word of escapeControls(text).split(' ')) {
    if (line !== '' && indent + line.length + 1 + word.length > lineWidth) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].join(`\n${' '.repeat(indent)}`)
}
