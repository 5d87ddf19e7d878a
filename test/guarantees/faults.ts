import pg from 'pg'
import type { Broker, BrokerProducer, TransactionalProducer } from '../../src/ports/broker.ts'
import type { Store, StoreTransaction, Unit } from '../../src/ports/store.ts'
import { brokerOver } from '../../src/testing/broker-over.ts'
import { storeOver } from '../../src/testing/store-over.ts'

/** What is wrong with a store or a broker on purpose, so that one sees the checks fail. */
export type Fault =
  /** Outputs that a predecessor has stored are not found. */
  | 'forgets outputs'
  /** Outputs seem to be acknowledged long before they are sent. */
  | 'acknowledges too early'
  /** Records and positions are committed one after the other. */
  | 'takes transactions apart'
  /** Units of former owners are stored, too. */
  | 'ignores fences'
  /** No event seems to be applied, and applying it is not remembered. */
  | 'ignores marks'
  /** No key seems to have a version. */
  | 'ignores versions'
  /** The ledger's position seems to be one of a while ago, as the group's is after a crash. */
  | 'ignores positions'

export function faultyBroker(broker: Broker, fault: Fault | undefined): Broker {
  if (fault === 'acknowledges too early')
    return brokerOver(broker, { producer: async () => hastyProducer(await broker.producer()) })
  if (fault === 'takes transactions apart')
    return brokerOver(broker, {
      transactionalProducer: async () => sloppyProducer(await broker.producer()),
    })
  return broker
}

// Time enough for positions to be committed.
const late = 300

function hastyProducer(producer: BrokerProducer): BrokerProducer {
  return {
    check: (record) => producer.check(record),
    close: () => producer.close(),
    async send(records) {
      setTimeout(() => void producer.send(records), late)
      return []
    },
  }
}

function sloppyProducer(producer: BrokerProducer): TransactionalProducer {
  return {
    check: (record) => producer.check(record),
    close: () => producer.close(),
    async transact(records, positions, member) {
      const refusals = await producer.send(records)
      await new Promise((resolve) => setTimeout(resolve, late / 10))
      await member.commit(positions)
      return refusals.length === 0 ? { outcome: 'committed' } : { outcome: 'aborted', refusals }
    },
  }
}

export function faultyStore(
  store: Store,
  fault: Fault | undefined,
  place: { readonly connectionString: string; readonly schema: string },
): Store {
  switch (fault) {
    case 'forgets outputs':
      return storeOver(store, {
        async acquire(...given) {
          const rows = await store.acquire(...given)
          return rows.map((row) => ({ ...row, unpublished: [] }))
        },
      })
    case 'ignores positions':
      return storeOver(store, {
        async acquire(...given) {
          const rows = await store.acquire(...given)
          return rows.map(({ next, ...row }) => {
            return { ...row, next: next && Math.max(0, next - 3), settled: [] }
          })
        },
      })
    case 'ignores marks':
      return storeOver(store, {
        async load(...given) {
          const loaded = await store.load(...given)
          return { ...loaded, applied: loaded.applied.map(() => false) }
        },
        commit: (unit) => store.commit({ ...unit, marks: [] }),
      })
    case 'ignores versions':
      return storeOver(store, {
        async load(...given) {
          const loaded = await store.load(...given)
          return { ...loaded, states: loaded.states.map((state) => ({ ...state, guard: null })) }
        },
      })
    case 'ignores fences':
      return storeWithoutFences(store, place)
    default:
      return store
  }
}

/** Each unit is told the epoch and the number that are asked for now, whoever has worked it under which. */
function storeWithoutFences(
  store: Store,
  { connectionString, schema }: { readonly connectionString: string; readonly schema: string },
): Store {
  const pool = new pg.Pool({ connectionString })
  const asIsNow = async (unit: Unit): Promise<Unit> => {
    const { rows } = await pool.query<Record<'partition' | 'epoch' | 'unit', string>>(
      `select partition, epoch, unit from "${schema}".pollux_ledger`,
    )
    const ledger = unit.ledger.map((change) => {
      const row = rows.find(({ partition }) => Number(partition) === change.partition)
      return { ...change, epoch: Number(row?.epoch), unit: Number(row?.unit) }
    })
    return { ...unit, ledger }
  }
  const { transactions } = store
  if (transactions === undefined) throw new Error('it has transactions')
  return storeOver(store, {
    commit: async (unit) => await store.commit(await asIsNow(unit)),
    close: async () => {
      await store.close()
      await pool.end()
    },
    transactions: {
      capability: transactions.capability,
      async begin(): Promise<StoreTransaction> {
        const transaction = await transactions.begin()
        return {
          get broken() {
            return transaction.broken
          },
          attempt: (body) => transaction.attempt(body),
          commit: async (unit) => await transaction.commit(await asIsNow(unit)),
          rollback: () => transaction.rollback(),
        }
      },
    },
  })
}
