import { test } from 'node:test'
import fc from 'fast-check'
import { checkWorld } from './lives/checks.ts'
import { type Plan, type PlannedLife, plans } from './lives/plan.ts'
import { World } from './lives/world.ts'

/** Two processes, to which nothing happens. */
const inPeace: PlannedLife = {
  deaths: [undefined, undefined],
  failing: undefined,
  isRefused: false,
}

async function check(plan: Plan): Promise<void> {
  const world = new World(plan)
  await world.open()
  const lives = [...plan.lives, inPeace]
  const share = Math.ceil(plan.records.length / lives.length)
  for (const [index, life] of lives.entries())
    await world.live(life, plan.records.slice(index * share, (index + 1) * share))
  // What the last life has found already done by others is brought to an end here.
  await world.live(inPeace, [])
  await checkWorld(world)
}

test('whatever dies, fails or is answered wrongly, and however often an event is written: effects once, in order, outputs at least once under ids of their own', async () => {
  await fc.assert(fc.asyncProperty(plans, check), {
    numRuns: Number(process.env['POLLUX_SCHEDULES'] ?? 800),
    interruptAfterTimeLimit: 120_000,
    markInterruptAsFailure: true,
  })
})
