// What may hold anything: comments (whose end is looked for, as they may be nested), texts, quoted
// names, texts between dollar signs (likewise), and words, which may hold dollar signs.
const token =
  /--[^\n]*|\/\*|[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/g

const command =
  /^(begin|start\s+transaction|commit|end|rollback|abort|savepoint|release|prepare\s+transaction)\b/i

/** The command of this SQL text that would begin, end or divide a transaction; undefined when there is none. */
export function transactionControl(text: string): string | undefined {
  for (const statement of bare(text).split(';')) {
    const found = command.exec(statement.trimStart())?.[0]
    if (found !== undefined) return found.toLowerCase().replaceAll(/\s+/g, ' ')
  }
  return undefined
}

/** The text without comments, and with nothing inside quotes. */
function bare(text: string): string {
  let result = ''
  let at = 0
  token.lastIndex = 0
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found] = match
    result += text.slice(at, match.index)
    at = token.lastIndex
    // A comment separates words; what is quoted is no command.
    if (found.startsWith('--')) result += ' '
    else if (found === '/*') {
      result += ' '
      at = commentEnd(text, match.index)
    } else if (found.startsWith('$')) {
      const end = text.indexOf(found, at)
      at = end < 0 ? text.length : end + found.length
      result += "''"
    } else result += /['"]/.test(found) ? "''" : found
    token.lastIndex = at
  }
  return result + text.slice(at)
}

function commentEnd(text: string, start: number): number {
  let depth = 0
  const edge = /\/\*|\*\//g
  edge.lastIndex = start
  for (let match = edge.exec(text); match !== null; match = edge.exec(text)) {
    depth += match[0] === '/*' ? 1 : -1
    if (depth === 0) return edge.lastIndex
  }
  return text.length
}
