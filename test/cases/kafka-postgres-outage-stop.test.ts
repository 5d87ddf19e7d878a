import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PolluxError } from '../../src/errors.ts'
import { eventually, within } from '../../src/testing/index.ts'
import { ask, newClient } from '../postgres/server.ts'
import { OutageScene, password } from './outage/outage-scene.ts'

/** Makes trouble; resolves to what ends it, once or more. */
type Trouble = (scene: OutageScene) => Promise<() => Promise<unknown>>

const troubles: Readonly<Record<string, Trouble>> = {
  'nobody listens': async (scene) => {
    await scene.proxy.turn('refuse')
    scene.proxy.cut()
    return () => scene.proxy.turn('pass')
  },
  'nobody answers': async (scene) => {
    await scene.proxy.turn('stall')
    return () => scene.proxy.turn('pass')
  },
  'answers are lost': async (scene) => {
    await scene.proxy.turn('deaf')
    return () => scene.proxy.turn('pass')
  },
  'the server only reads': async (scene) => {
    await ask(`alter role ${scene.role} set default_transaction_read_only = on`)
    await scene.endSessions()
    return () => ask(`alter role ${scene.role} set default_transaction_read_only = off`)
  },
  'all connections are taken': async (scene) => {
    await ask(`alter role ${scene.role} connection limit 0`)
    await scene.endSessions()
    return () => ask(`alter role ${scene.role} connection limit -1`)
  },
  'somebody holds the table': async (scene) => {
    const holder = await newClient()
    await holder.query(`begin; lock table ${scene.name}.${scene.written} in exclusive mode`)
    await scene.waitsForLocks(1)
    return async () => {
      await holder.end()
    }
  },
}

// They wait most of the time.
describe('starts and stops while PostgreSQL is in trouble', { concurrency: 3 }, () => {
  for (const effects of ['state', 'table'] as const) {
    const what = effects === 'state' ? 'a service with state' : 'a service with SQL of its own'
    for (const [when, trouble] of Object.entries(troubles)) {
      test(`a stop while ${when}: ${what} ends in time, and its successor goes on from there`, async (t) => {
        const scene = await OutageScene.open({ effects, drainTimeout: '2s' })
        t.after(() => scene.close())
        await scene.start()
        const end = await trouble(scene)
        scene.atEnd(end)
        const isMidway = when === 'somebody holds the table'
        if (!isMidway) await scene.until('it is not ready', () => scene.isWaiting())
        const stopping = scene.runtime.stop()
        await scene.endFeeding()
        // Of its time-outs, the one for draining is 2 s, and a statement is given up after 6 s.
        const { outcome, abandoned } = await within('stop', stopping, 12_000)
        assert.equal(outcome, abandoned > 0 ? 'aborted' : 'drained')
        if (isMidway) assert.ok(abandoned > 0, 'what was in work is told')
        // What was taken back before the stop was in work no more.
        const unfinished = await scene.unfinished()
        if (effects === 'state') assert.ok(abandoned >= unfinished, `${abandoned} of ${unfinished}`)
        await end()
        await scene.run()
        await scene.until('all is settled', () => scene.witness.isSettled())
        assert.ok(scene.runtime.readiness.isReady)
        assert.deepEqual(await scene.runtime.stop(), { outcome: 'drained', abandoned: 0 })
        await scene.check()
      })
    }
  }

  test('a start while the database is away fails at once, and says where the database should be', async (t) => {
    const scene = await OutageScene.open({ effects: 'state' })
    t.after(() => scene.close())
    for (const weather of ['refuse', 'reset', 'stall', 'deaf'] as const) {
      await scene.proxy.turn(weather)
      const error = await within(
        weather,
        scene.run().then(
          () => assert.fail('it started'),
          (reason: unknown) => reason,
        ),
        15_000,
      )
      checkUnreachable(error, scene)
      await scene.proxy.turn('pass')
    }
    await ask(`alter role ${scene.role} connection limit 0`)
    checkUnreachable(await scene.run().catch((reason: unknown) => reason), scene)
    await ask(`alter role ${scene.role} connection limit -1`)
    await scene.write(20)
    await scene.run()
    await scene.until('all is settled', () => scene.witness.isSettled())
    await scene.runtime.stop()
    await scene.check()
  })

  function checkUnreachable(error: unknown, { proxy, lines }: OutageScene): void {
    assert.ok(PolluxError.is(error, 'POLLUX_STORE_UNREACHABLE'), String(error))
    assert.ok(error.message.includes(`127.0.0.1:${proxy.port}`), error.message)
    const told = `${error.message} ${error.stack} ${JSON.stringify(error)}`
    for (const text of [told, ...lines]) assert.ok(!text.includes(password), text)
  }

  test('a stop while the start waits for the database ends the start', async (t) => {
    const scene = await OutageScene.open({ effects: 'state', store: { connectTimeout: '10s' } })
    t.after(() => scene.close())
    await scene.proxy.turn('stall')
    const stop = new AbortController()
    const starting = scene.run({ signal: stop.signal })
    await eventually('it connects', () => scene.proxy.asked > 0)
    stop.abort()
    const runtime = await within('start', starting, 5_000)
    assert.deepEqual(await within('stop', runtime.done, 20_000), {
      outcome: 'drained',
      abandoned: 0,
    })
  })
})
