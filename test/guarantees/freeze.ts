import assert from 'node:assert/strict'
import { type CrashPoint, eventually } from '../../src/testing/index.ts'
import type { MemberSettings } from './member-process.ts'
import { brokers } from './on-kafka.ts'
import type { Scene } from './scene.ts'

export interface Freeze {
  readonly point: CrashPoint
  readonly count: number
  readonly changes?: Partial<MemberSettings>
  /** What the process says when it finds out. */
  readonly tells: RegExp
}

const sessionTimeout = 2_000

/**
 * Freezes one of two members at a point of its work until the other has done it all, and wakes it then: what it still had in
 * its hands must not come into the store.
 */
export async function freezeAndWake(
  scene: Scene,
  { point, count, changes = {}, tells }: Freeze,
): Promise<void> {
  const settings: Partial<MemberSettings> = { ...shortLived(scene), ...changes }
  const other = scene.start('other', undefined, settings)
  const sleeper = scene.start('sleeper', { point, count, signal: 'SIGSTOP' }, settings)
  try {
    await other.starts()
    await eventually('one sleeps', () => feedUntil(scene, () => sleeper.crashedAt !== undefined), {
      every: 500,
    })
    const asleep = Date.now()
    const owner = 'sleeper2'
    await eventually('the other has done it all', () => scene.witness.isSettled(), {
      // Kafka looks every ten seconds for transactions whose time is over.
      deadline: 60_000,
      every: 50,
    })
    const before = await scene.witness.traces()

    await scene.feed()
    sleeper.signal('SIGCONT')
    await eventually('it has found out', () => tells.test(sleeper.errors))
    await eventually('both have partitions', () => feedUntil(scene, () => isShared(scene)), {
      every: 500,
    })
    await eventually('all is settled', () => scene.witness.isSettled(), { every: 50 })
    const known = new Set(before.filter((trace) => trace.owner === owner).map(({ value }) => value))
    const late = (await scene.witness.traces()).filter(
      (effect) => effect.owner === owner && effect.started <= asleep && !known.has(effect.value),
    )
    assert.deepEqual(late, [], 'it has written nothing more of what it had begun')

    for (const process of [sleeper, other]) process.signal('SIGTERM')
    for (const process of [sleeper, other]) assert.equal(await process.ended(), 0, process.errors)
    await scene.checkAll()
  } catch (cause: unknown) {
    const told = [sleeper, other].map(({ errors }) => errors.slice(-4_000)).join('\n\n')
    throw new Error(`The sleeper and the other told:\n${told}`, { cause })
  } finally {
    await Promise.all([sleeper.kill(), other.kill()])
  }
}

/** Members without a name of their own, whose partitions go to others soon, and whose transactions end before. */
function shortLived({ store }: Scene): Partial<MemberSettings> {
  const broker = { brokers, sessionTimeout, transactionTimeout: sessionTimeout }
  if (store === undefined || 'folder' in store) return { broker }
  return { broker, store: { ...store, statementTimeout: sessionTimeout / 2, lockTimeout: 500 } }
}

async function feedUntil(scene: Scene, look: () => boolean | Promise<boolean>): Promise<boolean> {
  if (await look()) return true
  await scene.feed()
  return false
}

async function isShared({ broker, names }: Scene): Promise<boolean> {
  const { members } = await broker.admin.group(names.group)
  return members.length === 2 && members.every(({ partitions }) => partitions.length > 0)
}
