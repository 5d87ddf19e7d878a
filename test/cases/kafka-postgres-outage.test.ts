import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type pg from 'pg'
import { ask, newClient } from '../postgres/server.ts'
import { OutageScene, type OutageSceneOptions } from './outage/outage-scene.ts'

// They wait most of the time.
describe('while PostgreSQL is in trouble', { concurrency: 3 }, () => {
  for (const effects of ['state', 'table'] as const) {
    const what = effects === 'state' ? 'a service with state' : 'a service with SQL of its own'

    const open = async (t: TestContext, store: OutageSceneOptions['store'] = {}) => {
      const scene = await OutageScene.open({ effects, store })
      t.after(() => scene.close())
      await scene.start()
      return scene
    }

    test(`${what} whose sessions are ended again and again loses nothing and doubles nothing`, async (t) => {
      const scene = await open(t)
      let ended = 0
      for (let round = 0; round < 12; round += 1) {
        await scene.flows(20)
        ended += await scene.endSessions()
      }
      assert.ok(ended >= 12, `${ended} sessions were ended`)
      await scene.finish()
      scene.troubles()
    })

    test(`${what} waits while nobody listens and while connections are cut at once, and goes on by itself`, async (t) => {
      const scene = await open(t)
      await scene.proxy.turn('refuse')
      scene.proxy.cut()
      await scene.until('it is not ready', () => scene.isWaiting())
      await scene.proxy.turn('reset')
      const { asked } = scene.proxy
      await scene.until('several tries', () => scene.proxy.asked >= asked + 4)
      assert.ok(scene.isWaiting(), 'it is still waiting')
      await scene.proxy.turn('pass')
      await scene.flows()
      await scene.finish()
      checkOnce(scene)
    })

    test(`${what} whose commits are done while their answers are lost takes no effect twice`, async (t) => {
      const scene = await open(t)
      for (let round = 1; round <= 5; round += 1) {
        scene.proxy.loseCommits(1)
        await scene.until('the answer is lost', () => scene.proxy.lost === round)
        await scene.flows(20)
      }
      await scene.finish()
      scene.troubles()
    })

    test(`${what} gives up statements and connections that nobody answers, and goes on by itself`, async (t) => {
      const scene = await open(t)
      for (const weather of ['stall', 'deaf'] as const) {
        await scene.proxy.turn(weather)
        await scene.until('it is not ready', () => scene.isWaiting())
        const { asked } = scene.proxy
        await scene.until('several tries', () => scene.proxy.asked >= asked + 3)
        await scene.proxy.turn('pass')
        await scene.flows()
      }
      await scene.finish()
      scene.troubles()
    })

    test(`${what} leaves a server that only reads, and goes on when it writes again`, async (t) => {
      const scene = await open(t)
      await ask(`alter role ${scene.role} set default_transaction_read_only = on`)
      await scene.endSessions()
      await scene.until('it is not ready', () => scene.isWaiting())
      const { asked } = scene.proxy
      await scene.until('several tries', () => scene.proxy.asked >= asked + 4)
      assert.ok(scene.isWaiting(), 'it is still waiting')
      await ask(`alter role ${scene.role} set default_transaction_read_only = off`)
      // Nobody ends the sessions that were made meanwhile: the service has to leave them by itself.
      await scene.flows()
      await scene.finish()
      scene.troubles()
    })

    test(`${what} waits while all connections are taken, and goes on when some are free`, async (t) => {
      const scene = await open(t)
      const taken: pg.Client[] = []
      for (let count = 0; count < 3; count += 1) taken.push(await newClient(scene.role))
      scene.atEnd(() => Promise.all(taken.map((client) => client.end())))
      await ask(`alter role ${scene.role} connection limit 3`)
      await scene.endSessions()
      await scene.until('it is not ready', () => scene.isWaiting())
      const { asked } = scene.proxy
      await scene.until('several tries', () => scene.proxy.asked >= asked + 4)
      await assert.rejects(newClient(scene.role), { code: '53300' })
      assert.ok(scene.isWaiting(), 'it is still waiting')
      await Promise.all(taken.splice(0).map((client) => client.end()))
      await scene.flows()
      await scene.finish()
      scene.troubles()
    })

    for (const table of ['pollux_ledger', effects === 'state' ? 'pollux_state' : 'effects']) {
      test(`${what} waits for whoever holds ${table}, beyond the time-out of statements`, async (t) => {
        const scene = await open(t)
        const holder = await newClient()
        scene.atEnd(() => holder.end())
        await holder.query(`begin; lock table ${scene.name}.${table} in exclusive mode`)
        await scene.waitsForLocks(3)
        await scene.until('it is not ready', () => scene.isWaiting())
        await holder.query('rollback')
        await scene.flows()
        await scene.finish()
        scene.troubles()
      })
    }
  }

  test('a service that takes over a partition waits for a stranger who holds its row of the ledger', async (t) => {
    const scene = await OutageScene.open({ effects: 'state' })
    t.after(() => scene.close())
    await scene.start()
    await scene.endFeeding()
    await scene.runtime.stop()
    const holder = await newClient()
    scene.atEnd(() => holder.end())
    await holder.query(
      `begin; select from ${scene.name}.pollux_ledger where service = '${scene.name}' for update`,
    )
    await scene.run()
    await scene.until('it is not ready', () =>
      scene.runtime.readiness.waitingFor.includes('acquiring partitions'),
    )
    await scene.waitsForLocks(3)
    await holder.query('rollback')
    scene.feed()
    await scene.flows()
    await scene.endFeeding()
    await scene.until('all is settled', () => scene.witness.isSettled())
    await scene.runtime.stop()
    await scene.check()
    checkOnce(scene)
  })

  /** One trouble, one line of each kind of call that it met, and one when that works again. */
  function checkOnce(scene: OutageScene): void {
    const troubles = Object.entries(scene.troubles())
    assert.ok(troubles.length > 0, 'the log tells of the trouble')
    for (const [kind, count] of troubles) assert.equal(count, 1, kind)
  }
})
