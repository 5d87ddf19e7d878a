import { duration, integer, type OptionTable, withoutDefault } from '../../options.ts'

/** The plain options of a gate, as read: in milliseconds, undefined for never and for any number. */
export interface GateSettings {
  readonly timeout: number | undefined
  readonly forget: number | undefined
  readonly maxOpen: number | undefined
}

// No timer of Node's is involved: what is due is found in the table.
const longest = '3650d'

export const gateOptions: OptionTable<GateSettings> = {
  timeout: withoutDefault(
    duration({
      min: '10ms',
      max: longest,
      default: '1d',
      help:
        'How long a gate may wait, from its first fact on; then expire is called. Too short: facts that are on their ' +
        'way come late. Never: gates whose facts do not come stay for ever, and nobody is told.',
    }),
    'never',
  ),
  forget: withoutDefault(
    duration({
      min: '10ms',
      max: longest,
      default: '1d',
      help:
        'How long after it opened or expired the row of a gate is removed. A fact that comes later begins a new gate. Too ' +
        'short: a second copy does that. Never: the table grows.',
    }),
    'never',
  ),
  maxOpen: withoutDefault(
    integer({
      min: 1,
      max: 1_000_000_000,
      default: 1_000_000,
      help:
        'How many gates may wait at once. Then facts of keys that have a gate still go through, and those of other keys wait, ' +
        'in their topics at last. It may be passed by what the other processes begin within a second. Too low: facts ' +
        'wait behind others that their gates would need, and without a timeout perhaps for ever. No limit: a topic ' +
        'that goes without its counterpart fills the table.',
    }),
    'no limit',
  ),
}
