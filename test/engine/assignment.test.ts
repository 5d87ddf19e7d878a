import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Assignment, type AssignmentHooks } from '../../src/engine/assignment.ts'
import { defineService, text, topic } from '../../src/index.ts'
import type { Position, TopicPartition } from '../../src/ports/broker.ts'
import { silent } from '../../src/ports/logger.ts'
import type { LedgerRow } from '../../src/ports/store.ts'
import { eventually } from '../../src/testing/index.ts'

const input = topic('input', { key: text, value: text })
const service = defineService('service', { inputs: [input], state: text, handle() {} })
const place = { topic: 'input', partition: 0 }

/** A service's partitions over a ledger that answers when the test says so. */
class Scene {
  /** What acquire answers, one after the other. */
  readonly answers: PromiseWithResolvers<readonly LedgerRow[]>[] = []
  readonly sought: Position[] = []
  readonly errors: unknown[] = []
  drain: Promise<void> = Promise.resolve()
  readonly assignment: Assignment
  #epoch = 0

  constructor() {
    const hooks: AssignmentHooks = {
      takeOver: async (partitions) => {
        const rows = await this.#acquire(partitions)
        return partitions.map((assigned, index) => ({ assigned, row: rows[index] as LedgerRow }))
      },
      acquire: (partitions) => this.#acquire(partitions),
      added() {},
      drain: () => this.drain,
      removed() {},
      broken: (error) => void this.errors.push(error),
    }
    this.assignment = new Assignment(service, hooks, silent)
  }

  #acquire(partitions: readonly TopicPartition[]): Promise<readonly LedgerRow[]> {
    if (partitions.length === 0) return Promise.resolve([])
    const answer = Promise.withResolvers<readonly LedgerRow[]>()
    this.answers.push(answer)
    return answer.promise
  }

  /** Answers the latest acquire: the ledger's next position is this one. */
  answer(next: number, which: number = this.answers.length - 1): void {
    this.#epoch += 1
    this.answers[which]?.resolve([
      { ...place, topicId: '', epoch: this.#epoch, unit: 0, next, settled: [], unpublished: [] },
    ])
  }

  async assign(next: number): Promise<void> {
    const assigned = this.assignment.assigned([{ ...place, committed: 0, start: 0 }])
    this.answer(next)
    await assigned
  }

  restart(): Promise<void> {
    return this.assignment.restart(this.assignment.all, async (positions) => {
      this.sought.push(...positions)
    })
  }
}

test('a partition that starts anew goes on from what the ledger says, as another object', async () => {
  const scene = new Scene()
  await scene.assign(3)
  const [before] = scene.assignment.all
  const restarted = scene.restart()
  assert.equal(scene.assignment.all.length, 0, 'it takes no record meanwhile')
  scene.answer(5)
  await restarted
  assert.deepEqual(scene.sought, [{ ...place, offset: 5 }])
  assert.ok(before?.hasEnded)
  assert.notEqual(scene.assignment.all[0], before)
  assert.equal(scene.assignment.all[0]?.done, 5)
})

test('a partition that is wanted back while its work drains is not taken over again', async () => {
  const scene = new Scene()
  await scene.assign(0)
  const drained = Promise.withResolvers<void>()
  scene.drain = drained.promise
  const revoked = scene.assignment.revoked([place])
  // Work that is still being drained meets a conflict.
  for (const partition of scene.assignment.all) partition.close()
  const restarted = scene.restart()
  drained.resolve()
  await revoked
  scene.answer(0)
  await restarted
  assert.deepEqual(scene.assignment.all, [])
  assert.equal(scene.assignment.find('input', 0), undefined)
})

test('a partition that is lost while it starts anew, and comes back, keeps the newer position', async () => {
  const scene = new Scene()
  await scene.assign(0)
  const restarted = scene.restart()
  scene.assignment.lost([place])
  const assigned = scene.assignment.assigned([{ ...place, committed: 0, start: 0 }])
  await eventually('both ask the ledger', () => scene.answers.length === 3)
  scene.answer(7, 2)
  assert.deepEqual(await assigned, [{ ...place, offset: 7 }])
  scene.answer(2, 1)
  await restarted
  assert.deepEqual(scene.sought, [], 'the reading position is left where the newer one is')
  assert.deepEqual(
    scene.assignment.all.map(({ done }) => done),
    [7],
  )
})
