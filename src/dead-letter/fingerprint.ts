import { hash } from 'node:crypto'

/**
 * The same text for errors that are alike: kind and message, with numbers, ids and quoted texts left out, as those differ
 * from message to message.
 */
export function fingerprintOf(error: string, message: string): string {
  const alike = message
    .replaceAll(/'[^']*'|"[^"]*"|`[^`]*`/g, '*')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '*')
    .replaceAll(/\S*\d\S*/g, '*')
  return hash('sha256', `${error}\n${alike}`, 'hex').slice(0, 12)
}
