import { after, before, describe, it } from 'node:test'
import type { Store } from '../ports/store.ts'
import { ledgerTests } from './store-contract/ledger-tests.ts'
import { lifecycleTests } from './store-contract/lifecycle-tests.ts'
import { sessionTests } from './store-contract/session-tests.ts'
import { stateTests } from './store-contract/state-tests.ts'
import { StoreProbe } from './store-contract/store-probe.ts'
import { unitTests } from './store-contract/unit-tests.ts'

/** What an adapter's test gives to the contract. */
export interface StoreSetup {
  /** Another store on the same data, not open yet. The suite closes it. */
  store(): Store
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

/**
 * The contract of the port `Store`, as tests for node:test. Call it in a test file of the adapter.
 * Services have fresh names, so the data may hold anything before, and keeps what the tests wrote.
 */
export function storeContract(
  name: string,
  setup: () => Promise<StoreSetup>,
  options: StoreContractOptions = {},
): void {
  const reasons = new Map(options.skips?.map(({ test, reason }) => [test, reason]))
  const onOneStore = { ...ledgerTests, ...stateTests, ...unitTests }
  const titles = [onOneStore, sessionTests, lifecycleTests].flatMap((tests) => Object.keys(tests))
  for (const title of reasons.keys()) {
    if (!titles.includes(title)) throw new Error(`There is no test '${title}' to be skipped.`)
  }

  describe(`store contract: ${name}`, () => {
    let adapter: StoreSetup
    let probe: StoreProbe

    before(async () => {
      adapter = await setup()
    })
    after(() => adapter.cleanup())

    describe('one store', () => {
      before(async () => {
        probe = await StoreProbe.open(adapter.store())
      })
      after(() => probe.store.close())

      for (const [title, run] of Object.entries(onOneStore)) {
        it(title, { skip: reasons.get(title) ?? false }, () => run(probe.renamed()))
      }
    })

    // These open stores of their own; by now the one above is closed.
    describe('several stores', () => {
      for (const [title, run] of Object.entries({ ...sessionTests, ...lifecycleTests })) {
        it(title, { skip: reasons.get(title) ?? false }, () => run(() => adapter.store()))
      }
    })
  })
}
