import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../src/testing/index.ts'
import { Child } from '../crash/child-process.ts'

interface Ending {
  readonly title: string
  readonly trouble: string
  /** `run`'s options. */
  readonly options?: {
    readonly drainTimeout?: number
    readonly stopTimeout?: number
    readonly bufferMessages?: number
  }
  readonly signals?: readonly NodeJS.Signals[]
  readonly code: number
  /** From the last signal, or the start where there is none, to the end, in milliseconds. */
  readonly within: number
  readonly says?: RegExp
}

const endings: readonly Ending[] = [
  { title: 'SIGTERM in idle polling ends with 0', trouble: 'idle', code: 0, within: 2_000 },
  {
    title: 'SIGINT in idle polling ends with 0',
    trouble: 'idle',
    signals: ['SIGINT'],
    code: 0,
    within: 2_000,
  },
  {
    title: 'SIGTERM with a full buffer finishes what is in work and ends with 0',
    trouble: 'full buffer',
    options: { bufferMessages: 2 },
    code: 0,
    within: 2_000,
  },
  { title: 'SIGTERM while connecting ends with 0', trouble: 'connecting', code: 0, within: 2_000 },
  {
    title: 'SIGTERM while the store does not answer ends with 3',
    trouble: 'store',
    code: 3,
    within: 2_500,
  },
  {
    title: 'SIGTERM and a handler that gives up when told ends with 3 after drainTimeout',
    trouble: 'waits for its signal',
    options: { drainTimeout: 500 },
    code: 3,
    within: 2_500,
  },
  {
    title: 'a second SIGTERM hurries: 3 at once',
    trouble: 'waits for its signal',
    signals: ['SIGTERM', 'SIGTERM'],
    code: 3,
    within: 2_000,
  },
  {
    title: 'SIGINT after SIGTERM hurries, too',
    trouble: 'waits for its signal',
    signals: ['SIGTERM', 'SIGINT'],
    code: 3,
    within: 2_000,
  },
  {
    title: 'a handler that never returns and holds the process is left behind: 3',
    trouble: 'never returns',
    options: { drainTimeout: 500 },
    code: 3,
    within: 4_000,
  },
  {
    title: 'a client that hangs ends with 4 after stopTimeout',
    trouble: 'client hangs',
    options: { drainTimeout: 200, stopTimeout: 1_000 },
    code: 4,
    within: 3_000,
    says: /POLLUX_STOP_TIMEOUT/,
  },
  {
    title: 'a handler that fails ends with 1',
    trouble: 'fails',
    signals: [],
    code: 1,
    within: 60_000,
    says: /POLLUX_HANDLER_FAILED/,
  },
  {
    title: 'an error that nobody caught ends with 1',
    trouble: 'fails without a promise',
    signals: [],
    code: 1,
    within: 60_000,
    says: /nobody caught this/,
  },
]

const terminate: readonly NodeJS.Signals[] = ['SIGTERM']

for (const { title, trouble, options = {}, signals = terminate, code, within, says } of endings) {
  test(`case 58: ${title}`, async () => {
    const child = new Child('cases/signal-process.ts', { trouble, ...options })
    if (signals.length > 0) await child.says('ready')
    const start = performance.now()
    for (const [index, signal] of signals.entries()) {
      // Two of a kind that are pending at once are one.
      if (index > 0)
        await eventually('the first signal is noticed', () => child.errors.includes('draining'))
      child.signal(signal)
    }
    assert.equal(await child.ended(30_000), code, child.errors)
    const took = performance.now() - start
    assert.ok(took < within, `took ${took} ms`)
    if (says !== undefined) assert.match(child.errors, says)
  })
}
