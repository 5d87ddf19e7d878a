import { after, before, describe, it } from 'node:test'
import { adminTests } from './broker-contract/admin-tests.ts'
import { type BrokerSetup, ContractCluster, type ContractTest } from './broker-contract/cluster.ts'
import { groupTests } from './broker-contract/group-tests.ts'
import { lifecycleTests } from './broker-contract/lifecycle-tests.ts'
import { logTests } from './broker-contract/log-tests.ts'
import { rebalanceTests } from './broker-contract/rebalance-tests.ts'
import { transactionTests } from './broker-contract/transaction-tests.ts'

export type { BrokerSetup } from './broker-contract/cluster.ts'

/** A test that an adapter cannot pass, and why. The runner prints the reason. */
export interface ContractSkip {
  /** The test's title. */
  readonly test: string
  readonly reason: string
}

export interface BrokerContractOptions {
  readonly skips?: readonly ContractSkip[]
  /** Milliseconds that each wait may take. Default 30 000. */
  readonly deadline?: number
  /** Bytes of the largest value the broker takes; leave it out for a broker without a limit. */
  readonly maxRecordBytes?: number
}

const transactionPart = 'transactions'
const parts: readonly (readonly [string, readonly ContractTest[]])[] = [
  ['log', logTests],
  ['one member', groupTests],
  ['several members', rebalanceTests],
  [transactionPart, transactionTests],
  ['admin', adminTests],
  ['life cycle', lifecycleTests],
]

/**
 * Registers, with node:test, the tests that every adapter of the `Broker` port has to pass.
 * `setup` runs once. A skip that names no test, or gives no reason, is an error.
 */
export function brokerContract(
  name: string,
  setup: () => Promise<BrokerSetup>,
  options: BrokerContractOptions = {},
): void {
  const { skips = [], deadline = 30_000, maxRecordBytes } = options
  checkSkips(skips)
  describe(`broker contract: ${name}`, () => {
    let ready: BrokerSetup | undefined
    let hasTransactions = false
    before(async () => {
      ready = await setup()
      const broker = await ready.broker()
      hasTransactions = broker.transactionalProducer !== undefined
      await broker.close()
    })
    after(async () => {
      await ready?.cleanup()
    })
    for (const [part, tests] of parts) {
      describe(part, () => {
        for (const test of tests) {
          const skip = skipReason(test.title, skips, maxRecordBytes)
          it(test.title, skip === undefined ? {} : { skip }, async (context) => {
            if (ready === undefined) throw new Error('The set-up failed.')
            if (part === transactionPart && !hasTransactions)
              return context.skip('the broker has no transactions')
            await runTest(test, new ContractCluster(ready, deadline, maxRecordBytes))
          })
        }
      })
    }
  })
}

async function runTest(test: ContractTest, cluster: ContractCluster): Promise<void> {
  try {
    await test.run(cluster)
  } catch (error: unknown) {
    // The test's own failure is what counts; the clean-up after it may well fail too.
    await cluster.end().catch(() => undefined)
    throw error
  }
  await cluster.end()
}

function skipReason(
  title: string,
  skips: readonly ContractSkip[],
  maxRecordBytes: number | undefined,
): string | undefined {
  if (title.startsWith('case 17:') && maxRecordBytes === undefined)
    return 'maxRecordBytes is not given'
  return skips.find(({ test }) => test === title)?.reason
}

function checkSkips(skips: readonly ContractSkip[]): void {
  const titles = new Set(parts.flatMap(([, tests]) => tests.map(({ title }) => title)))
  for (const { test, reason } of skips) {
    if (!titles.has(test)) throw new Error(`No test of the broker contract is called '${test}'.`)
    if (reason.trim() === '') throw new Error(`The skip of '${test}' has no reason.`)
  }
}
