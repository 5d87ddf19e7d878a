import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { embeddedBroker } from '../../src/embedded/index.ts'
import type { Broker } from '../../src/ports/broker.ts'
import { eventually } from '../../src/testing/eventually.ts'
import { Child } from './child.ts'

const topic = 'work'
const group = 'workers'

interface Line {
  readonly joined?: number
  readonly assigned?: readonly number[]
  readonly revoked?: readonly number[]
  readonly lost?: readonly number[]
  readonly records?: readonly (readonly [number, number])[]
  readonly committed?: readonly [number, number]
  readonly refused?: string
  readonly isAsked?: boolean
  readonly failed?: string
}

function linesOf(child: Child): Line[] {
  return child.lines.map((line) => JSON.parse(line) as Line)
}

function ownedBy(child: Child): number[] {
  const owned = new Set<number>()
  for (const { assigned = [], revoked = [], lost = [] } of linesOf(child)) {
    for (const partition of assigned) owned.add(partition)
    for (const partition of [...revoked, ...lost]) owned.delete(partition)
  }
  return [...owned].toSorted()
}

/** A folder with one topic, a connection of the test to it, and member processes that end with the test. */
class Setting {
  readonly broker: Broker
  readonly folder: string
  readonly children: Child[] = []
  readonly #partitions: number
  #sent = 0

  constructor(folder: string, partitions: number) {
    this.folder = folder
    this.#partitions = partitions
    this.broker = embeddedBroker({ folder })
  }

  static async run(partitions: number, test: (setting: Setting) => Promise<void>): Promise<void> {
    const setting = new Setting(await mkdtemp(join(tmpdir(), 'pollux-processes-')), partitions)
    try {
      await setting.broker.admin.createTopics([{ name: topic, partitions }])
      await test(setting)
    } finally {
      await Promise.all(setting.children.map((child) => child.kill()))
      await setting.broker.close()
      await rm(setting.folder, { recursive: true })
    }
  }

  start(sessionTimeout: number): Child {
    const child = Child.start(
      'member-process.ts',
      this.folder,
      group,
      topic,
      String(sessionTimeout),
    )
    this.children.push(child)
    return child
  }

  async send(count: number): Promise<void> {
    const producer = await this.broker.producer()
    const records = Array.from({ length: count }, () => ({
      topic,
      partition: this.#sent++ % this.#partitions,
      key: null,
      value: Buffer.from('x'),
      headers: [],
      timestamp: undefined,
    }))
    assert.deepEqual(await producer.send(records), [])
    await producer.close()
  }

  /** Waits until these own all partitions between them, evenly. */
  async shared(children: readonly Child[], deadline = 20_000): Promise<void> {
    const all = Array.from({ length: this.#partitions }, (_, partition) => partition)
    const least = Math.floor(all.length / children.length)
    await eventually(
      `${children.length} processes share ${all.length} partitions`,
      () => {
        const owned = children.map(ownedBy)
        return (
          owned
            .flat()
            .toSorted((a, b) => a - b)
            .join() === all.join() && owned.every((one) => one.length >= least)
        )
      },
      { deadline },
    ).catch((error: unknown) => {
      throw new Error(children.map((child) => `${ownedBy(child)} ${child.errors}`).join('; '), {
        cause: error,
      })
    })
  }

  async committed(): Promise<Map<number, number>> {
    const { offsets } = await this.broker.admin.group(group)
    return new Map(offsets.map(({ partition, offset }) => [partition, offset]))
  }

  /** Waits until everything sent is committed. */
  async drained(): Promise<void> {
    await eventually('all records are committed', async () => {
      const committed = await this.committed()
      const ranges = await this.broker.admin.ranges([topic])
      return ranges.every(
        ({ partition, latest }) => latest === 0 || committed.get(partition) === latest,
      )
    })
  }

  /** Each record was printed by some process, and no process failed. What was printed may still be in the pipe. */
  async checkDelivered(): Promise<void> {
    const sent: string[] = []
    for (const { partition, latest } of await this.broker.admin.ranges([topic])) {
      for (let offset = 0; offset < latest; offset += 1) sent.push(`${partition}/${offset}`)
    }
    await eventually('each record was printed', () => {
      const printed = new Set(
        this.children.flatMap((child) =>
          linesOf(child).flatMap(({ records = [] }) => records.map((one) => one.join('/'))),
        ),
      )
      return sent.every((record) => printed.has(record))
    })
    for (const child of this.children) {
      assert.deepEqual(
        linesOf(child).filter(({ failed }) => failed !== undefined),
        [],
      )
      assert.equal(child.errors, '')
    }
  }
}

describe('a group of several processes on one folder', () => {
  it('shares the partitions, and hands them over when one leaves', async () => {
    await Setting.run(6, async (setting) => {
      const [first, second] = [setting.start(5_000), setting.start(5_000)]
      await setting.shared([first, second])
      await setting.send(300)
      await setting.drained()
      first.tell({ leave: true })
      await first.ended()
      await setting.shared([second])
      await setting.send(60)
      await setting.drained()
      await setting.checkDelivered()
    })
  })

  it('takes over from a killed process long before the session timeout', async () => {
    await Setting.run(6, async (setting) => {
      const children = [setting.start(60_000), setting.start(60_000), setting.start(60_000)]
      await setting.shared(children)
      const [victim, ...rest] = children as [Child, Child, Child]
      await setting.send(120)
      await victim.kill()
      // The timeout is a minute: only the look for ended processes can be so quick.
      await setting.shared(rest, 20_000)
      await setting.send(120)
      await setting.drained()
      await setting.checkDelivered()
    })
  })

  it('a process that starts alone after a kill takes everything at once', async () => {
    await Setting.run(2, async (setting) => {
      const victim = setting.start(60_000)
      await setting.shared([victim])
      await victim.kill()
      await setting.shared([setting.start(60_000)], 10_000)
    })
  })

  it('case 8: a stopped process loses its partitions; awake again it is refused, told, and joins anew', async () => {
    await Setting.run(4, async (setting) => {
      const [zombie, other] = [setting.start(600), setting.start(600)]
      await setting.shared([zombie, other])
      await setting.send(40)
      await setting.drained()
      const [partition = -1] = ownedBy(zombie)
      zombie.signal('SIGSTOP')
      await setting.shared([other])
      await setting.send(40)
      await setting.drained()
      const before = await setting.committed()
      // The command waits in the pipe and is the first thing that the process sees on waking.
      zombie.tell({ commit: { topic, partition, offset: 1 } })
      const printed = zombie.lines.length
      zombie.signal('SIGCONT')
      await zombie.until('the commit is answered', () =>
        linesOf(zombie).some(({ isAsked }) => isAsked === true),
      )
      const [answer] = linesOf(zombie).filter(({ isAsked }) => isAsked === true)
      const woken = linesOf(zombie).slice(printed)
      const isBack = woken.some(({ assigned = [] }) => assigned.includes(partition))
      // It may have joined anew before it read the command, and then the partition may be its own again.
      if (!isBack) assert.equal(answer?.refused, 'POLLUX_BROKER_REFUSED')
      if (!isBack) assert.equal((await setting.committed()).get(partition), before.get(partition))
      await zombie.until('it is told', () =>
        linesOf(zombie).some(({ lost }) => lost?.includes(partition) === true),
      )
      await setting.shared([zombie, other])
      await setting.send(40)
      await setting.drained()
      await setting.checkDelivered()
    })
  })

  it('loses nothing and never moves back while processes are killed, stopped and started', async () => {
    await Setting.run(6, async (setting) => {
      let alive = [setting.start(500), setting.start(500), setting.start(500)]
      const highest = new Map<number, number>()
      const checkForward = async (): Promise<void> => {
        for (const [partition, offset] of await setting.committed()) {
          assert.ok(
            offset >= (highest.get(partition) ?? 0),
            `partition ${partition} went back to ${offset}`,
          )
          highest.set(partition, offset)
        }
      }
      await setting.shared(alive)
      for (let round = 0; round < 10; round += 1) {
        const victim = alive[round % alive.length] as Child
        const rest = alive.filter((child) => child !== victim)
        await setting.send(120)
        victim.signal(round % 2 === 0 ? 'SIGKILL' : 'SIGSTOP')
        await setting.send(60)
        await checkForward()
        await setting.shared(rest)
        await checkForward()
        if (round % 2 === 0) alive = [...rest, setting.start(500)]
        else victim.signal('SIGCONT')
        await setting.send(60)
        await setting.shared(alive)
        await checkForward()
      }
      await setting.drained()
      await setting.checkDelivered()
    })
  })
})
