import { after, before, describe, it, type TestContext } from 'node:test'
import type { Store } from '../ports/store.ts'
import { acknowledgeTests } from './store-contract/acknowledge-tests.ts'
import type { Age } from './store-contract/aging.ts'
import { atOnceTests } from './store-contract/at-once-tests.ts'
import { attemptTests } from './store-contract/attempt-tests.ts'
import { conflictTests } from './store-contract/conflict-tests.ts'
import { fenceTests } from './store-contract/fence-tests.ts'
import { forgetTests } from './store-contract/forget-tests.ts'
import { guardTests } from './store-contract/guard-tests.ts'
import { ledgerTests } from './store-contract/ledger-tests.ts'
import { lifecycleTests } from './store-contract/lifecycle-tests.ts'
import { markTests } from './store-contract/mark-tests.ts'
import { outputTests } from './store-contract/output-tests.ts'
import { sessionTests } from './store-contract/session-tests.ts'
import { stateTests } from './store-contract/state-tests.ts'
import { StoreProbe } from './store-contract/store-probe.ts'
import { OwnRows, type TransactionSetup } from './store-contract/transaction-probe.ts'
import { transactionTests } from './store-contract/transaction-tests.ts'
import { unitTests } from './store-contract/unit-tests.ts'
import { unpublishedTests } from './store-contract/unpublished-tests.ts'

export type { TransactionSetup } from './store-contract/transaction-probe.ts'

/** What an adapter's test gives to the contract. */
export interface StoreSetup {
  /** Another store on the same data, not open yet. The suite closes it. */
  store(): Store
  /**
   * Makes all that the stores hold so many milliseconds older, as if that time had passed. Without
   * it the tests of what becomes old are left out, and the report says so.
   */
  readonly age?: Age
  /** What handlers do in transactions. Needed if the store has them. */
  readonly transactions?: TransactionSetup
  /** Runs once, at the end, when all stores are closed. */
  cleanup(): Promise<void>
}

/** A test that an adapter cannot pass by its nature. */
export interface StoreContractSkip {
  /** The test's title. */
  readonly test: string
  readonly reason: string
}

export interface StoreContractOptions {
  /** Default none. The report shows each with its reason. */
  readonly skips?: readonly StoreContractSkip[]
}

type Tests<Run> = Readonly<Record<string, Run>>

const onOneStore = {
  ledger: ledgerTests,
  states: { ...stateTests, ...guardTests },
  marks: markTests,
  outputs: { ...outputTests, ...acknowledgeTests },
  units: { ...unitTests, ...fenceTests, ...conflictTests, ...atOnceTests },
}
const onOldData = { ...forgetTests, ...unpublishedTests }
const inTransactions = { ...transactionTests, ...attemptTests }
const onSeveralStores = { ...sessionTests, ...lifecycleTests }

/**
 * The contract of the port `Store`, as tests for node:test. Call it in a test file of the adapter.
 * Services have fresh names, so the data may hold anything before, and keeps what the tests wrote.
 */
export function storeContract(
  name: string,
  setup: () => Promise<StoreSetup>,
  options: StoreContractOptions = {},
): void {
  const reasons = reasonsOf(options)

  describe(`store contract: ${name}`, () => {
    let adapter: StoreSetup
    let probe: StoreProbe

    function part<Run>(
      title: string,
      tests: Tests<Run>,
      execute: (run: Run, context: TestContext) => void | Promise<void>,
    ): void {
      describe(title, () => {
        for (const [test, run] of Object.entries(tests)) {
          it(test, { skip: reasons.get(test) ?? false }, (context) => execute(run, context))
        }
      })
    }

    before(async () => {
      adapter = await setup()
    })
    after(() => adapter.cleanup())

    describe('one store', () => {
      before(async () => {
        probe = await StoreProbe.open(adapter.store())
      })
      after(() => probe.store.close())

      for (const [title, tests] of Object.entries(onOneStore)) {
        part(title, tests, (run) => run(probe.renamed()))
      }
      part('old data', onOldData, (run, context) => {
        const { age } = adapter
        if (age === undefined) return context.skip('the set-up cannot make its data older')
        return run(probe.renamed(), age)
      })
      part('transactions', inTransactions, (run, context) => {
        const isThere = probe.store.transactions !== undefined
        if (adapter.transactions === undefined) {
          if (!isThere) return context.skip('the store has none')
          throw new Error(
            'The store has transactions: the set-up should tell how to write in them.',
          )
        }
        if (!isThere) throw new Error('The set-up writes in transactions, but the store has none.')
        const fresh = probe.renamed()
        return run(fresh, new OwnRows(fresh, adapter.transactions))
      })
    })

    // These open stores of their own; by now the one above is closed.
    part('several stores', onSeveralStores, (run) => run(() => adapter.store()))
  })
}

/** Why tests are skipped, by their titles. */
function reasonsOf({ skips = [] }: StoreContractOptions): ReadonlyMap<string, string> {
  const titles = new Set(
    [...Object.values(onOneStore), onOldData, inTransactions, onSeveralStores].flatMap((tests) =>
      Object.keys(tests),
    ),
  )
  for (const { test } of skips) {
    if (!titles.has(test)) throw new Error(`There is no test '${test}' to be skipped.`)
  }
  return new Map(skips.map(({ test, reason }) => [test, reason]))
}
