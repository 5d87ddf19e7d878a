import { type OptionTable, oneOf } from '../../options.ts'

/** The plain options of a sidecar, as read. */
export interface SidecarSettings {
  readonly tombstones: 'delete' | 'ignore' | 'refuse'
  readonly badText: 'replace' | 'refuse'
}

export const sidecarOptions: OptionTable<SidecarSettings> = {
  tombstones: oneOf({
    words: ['delete', 'ignore', 'refuse'],
    default: 'delete',
    help:
      'What a record without a value does. "delete": deletes the row. "ignore": nothing; it is counted as `tombstones`. ' +
      '"refuse": its message fails.',
  }),
  badText: oneOf({
    words: ['replace', 'refuse'],
    default: 'replace',
    help:
      'What becomes of text that many databases cannot store: NUL characters and halves of surrogate pairs. "replace": ' +
      'each becomes U+FFFD. "refuse": the message fails.',
  }),
}
