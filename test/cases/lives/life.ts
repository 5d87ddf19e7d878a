import type {
  Broker,
  GroupListener,
  GroupMember,
  TransactionalProducer,
} from '../../../src/ports/broker.ts'
import type { Store, StoreTransaction } from '../../../src/ports/store.ts'
import { storeOver } from '../../../src/testing/store-over.ts'

/** What a dead process is answered. */
const never: Promise<never> = new Promise(() => {})

/**
 * A process that dies at a point of its own: nothing that it has asked for is answered from then on, and nothing that
 * it asks for is done, but for a request that was on its way: that may arrive late.
 */
export class Life {
  readonly #deathAt: number | undefined
  readonly #later: () => Promise<void>
  readonly #death = Promise.withResolvers<void>()
  #passed = 0
  isDead = false

  /**
   * @param deathAt how many points it passes before; undefined: it lives on.
   * @param later resolves when a late request arrives.
   */
  constructor(deathAt?: number, later: () => Promise<void> = async () => {}) {
    this.#deathAt = deathAt
    this.#later = later
  }

  /** Resolves at its death. */
  get death(): Promise<void> {
    return this.#death.promise
  }

  /** Does something that others see. It may be the last thing, or the first that is not done any more. */
  async pass<T>(action: () => Promise<T>): Promise<T> {
    if (this.isDead) return never
    if (this.#diesHere()) {
      void this.#later()
        .then(action)
        .catch(() => {})
      return never
    }
    const result = await action()
    this.#diesHere()
    return await (this.isDead ? never : result)
  }

  /** For what only the process itself sees. */
  async goOn(): Promise<void> {
    if (this.isDead) await never
  }

  /** Dies now. */
  end(): void {
    this.isDead = true
    this.#death.resolve()
  }

  #diesHere(): boolean {
    this.#passed += 1
    if (this.#passed !== this.#deathAt) return false
    this.end()
    return true
  }
}

/** The broker as that process sees it. `other` outlives it, for its late records. */
export function mortalBroker(broker: Broker, other: Broker, life: Life): Broker {
  void life.death.then(() => broker.close()).catch(() => {})
  /** The broker's own members, by those that stand for them: its transactions know no others. */
  const members = new WeakMap<GroupMember, GroupMember>()
  return {
    name: broker.name,
    admin: broker.admin,
    connect: () => broker.connect(),
    reader: (from) => broker.reader(from),
    close: () => (life.isDead ? never : broker.close()),
    async producer() {
      const producer = await other.producer()
      return {
        check: (record) => producer.check(record),
        send: (records) => life.pass(() => producer.send(records)),
        close: () => producer.close(),
      }
    },
    async transactionalProducer(id) {
      const producer = await other.transactionalProducer?.(id)
      if (producer === undefined) throw new Error('this broker has no transactions')
      return mortalTransactions(producer, members, life)
    },
    async join(subscription, listener) {
      const member = await broker.join(subscription, mortalListener(listener, life))
      const mortal = mortalMember(member, life)
      members.set(mortal, member)
      return mortal
    },
  }
}

function mortalTransactions(
  producer: TransactionalProducer,
  members: WeakMap<GroupMember, GroupMember>,
  life: Life,
): TransactionalProducer {
  return {
    check: (record) => producer.check(record),
    close: () => producer.close(),
    transact: (records, positions, member) =>
      life.pass(() => producer.transact(records, positions, members.get(member) ?? member)),
  }
}

/** The group goes on without the dead. */
function mortalListener(listener: GroupListener, life: Life): GroupListener {
  return {
    assigned: async (partitions) =>
      life.isDead ? [] : Promise.race([listener.assigned(partitions), life.death.then(() => [])]),
    revoked: async (partitions) => {
      if (!life.isDead) await Promise.race([listener.revoked(partitions), life.death])
    },
    lost: (partitions) => {
      if (!life.isDead) listener.lost(partitions)
    },
  }
}

function mortalMember(member: GroupMember, life: Life): GroupMember {
  return {
    poll: (max) => life.pass(() => member.poll(max)),
    commit: (positions) => life.pass(() => member.commit(positions)),
    seek: (positions) => life.pass(() => member.seek(positions)),
    leave: () => life.pass(() => member.leave()),
    pause: (partitions) => member.pause(partitions),
    resume: (partitions) => member.resume(partitions),
  }
}

/** The store as that process sees it. */
export function mortalStore(store: Store, life: Life): Store {
  const { transactions } = store
  return storeOver(store, {
    acquire: (...given) => life.pass(() => store.acquire(...given)),
    load: (...given) => life.pass(() => store.load(...given)),
    commit: (unit) => life.pass(() => store.commit(unit)),
    acknowledge: (...given) => life.pass(() => store.acknowledge(...given)),
    holds: (...given) => life.pass(() => store.holds(...given)),
    close: () => (life.isDead ? never : store.close()),
    ...(transactions === undefined
      ? {}
      : {
          transactions: {
            capability: transactions.capability,
            begin: () => life.pass(async () => mortalTransaction(await transactions.begin(), life)),
          },
        }),
  })
}

function mortalTransaction(transaction: StoreTransaction, life: Life): StoreTransaction {
  return {
    get broken() {
      return transaction.broken
    },
    attempt: (body) => transaction.attempt(body),
    commit: (unit) => life.pass(() => transaction.commit(unit)),
    rollback: () => transaction.rollback(),
  }
}
