import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type WorkerEvents, WorkerPool } from '../../../src/cli/run/worker-pool.ts'
import { silent } from '../../../src/ports/logger.ts'

interface Started extends WorkerEvents {
  readonly number: number
  readonly orders: string[]
}

interface Timer {
  readonly due: number
  readonly task: () => void
}

function pool(count: number): {
  readonly pool: WorkerPool
  readonly started: Started[]
  readonly at: (index: number) => Started
  advance(ms: number): void
} {
  const started: Started[] = []
  const timers = new Set<Timer>()
  let now = 0
  const made = new WorkerPool({
    count,
    killAfter: 10_000,
    logger: silent,
    clock: {
      now: () => now,
      random: () => 1,
      after(ms, task) {
        const timer = { due: now + ms, task }
        timers.add(timer)
        return () => timers.delete(timer)
      },
    },
    start(number, events) {
      const orders: string[] = []
      started.push({ number, orders, ...events })
      return { order: (order) => orders.push(order), kill: () => orders.push('kill') }
    },
  })
  return {
    pool: made,
    started,
    at(index) {
      const found = started[index]
      assert.ok(found !== undefined, `worker start ${index} is missing`)
      return found
    },
    advance(ms) {
      now += ms
      for (const timer of [...timers]) {
        if (timer.due > now || !timers.delete(timer)) continue
        timer.task()
      }
    },
  }
}

test('The first worker starts alone, and the others when it is ready', () => {
  const { started, at } = pool(3)
  assert.equal(started.length, 1)
  at(0).ready()
  assert.deepEqual(
    started.map(({ number }) => number),
    [1, 2, 3],
  )
})

test('What is wrong from the beginning ends the pool with that code, and no other worker starts', async () => {
  const { pool: made, started, at } = pool(3)
  at(0).ended(2, null)
  assert.equal(await made.done, 2)
  assert.equal(started.length, 1)
})

test('A crashed worker is started again, later each time, and soon again after a healthy while', () => {
  const { started, at, advance } = pool(1)
  at(0).ready()
  at(0).ended(null, 'SIGKILL')
  advance(499)
  assert.equal(started.length, 1)
  advance(1)
  assert.equal(started.length, 2)
  at(1).ended(6, null)
  advance(999)
  assert.equal(started.length, 2)
  advance(1)
  assert.equal(started.length, 3)
  advance(60_000)
  at(2).ended(6, null)
  advance(500)
  assert.equal(started.length, 4)
})

test('A failed service drains all workers, and the exit code says so', async () => {
  const { pool: made, at } = pool(2)
  at(0).ready()
  at(1).ready()
  at(1).ended(1, null)
  assert.deepEqual(at(0).orders, ['stop'])
  at(0).ended(0, null)
  assert.equal(await made.done, 1)
})

test('A stop goes to all, a hurry too, and a crash while stopping restarts nothing', async () => {
  const { pool: made, started, at, advance } = pool(2)
  at(0).ready()
  made.stop()
  made.stop()
  made.hurry()
  assert.deepEqual(at(0).orders, ['stop', 'hurry'])
  at(0).ended(3, null)
  at(1).ended(null, 'SIGSEGV')
  assert.equal(await made.done, 6)
  advance(60_000)
  assert.equal(started.length, 2)
})

test('A stop while a restart is awaited calls the restart off', async () => {
  const { pool: made, started, at, advance } = pool(1)
  at(0).ended(null, 'SIGKILL')
  made.stop()
  assert.equal(await made.done, 0)
  advance(60_000)
  assert.equal(started.length, 1)
})

test('A worker that does not stop is killed, and that is the exit code of the deadline', async () => {
  const { pool: made, at, advance } = pool(1)
  at(0).ready()
  made.stop()
  advance(9_999)
  assert.deepEqual(at(0).orders, ['stop'])
  advance(1)
  assert.deepEqual(at(0).orders, ['stop', 'kill'])
  at(0).ended(null, 'SIGKILL')
  assert.equal(await made.done, 4)
})

test('A worker that somebody stopped stays down while the others go on', async () => {
  const { pool: made, started, at, advance } = pool(2)
  at(0).ready()
  at(0).ended(0, null)
  advance(60_000)
  assert.equal(started.length, 2)
  at(1).ended(0, null)
  assert.equal(await made.done, 0)
})
