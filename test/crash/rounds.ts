import assert from 'node:assert/strict'
import { eventually } from '../../src/testing/index.ts'
import { chanceOf } from '../cases/pump.ts'
import { Child } from './child-process.ts'
import { type CopySettings, type Death, deathPoints } from './copy-process.ts'
import type { Witness } from './witness.ts'

const perRound = 120
const keys = 16

/**
 * Lets members of a copying service die again and again, each in turn with its own successor: at a named point, or at
 * any moment of their life, start included. After each death the witness looks at what was committed.
 */
export async function killAgainAndAgain(
  witness: Witness,
  members: readonly CopySettings[],
  { rounds, seed }: { readonly rounds: number; readonly seed: number },
): Promise<void> {
  const share = Math.ceil(rounds / members.length)
  await Promise.all(
    members.map((settings, index) => killOneMember(witness, settings, share, seed + index)),
  )
}

async function killOneMember(
  witness: Witness,
  settings: CopySettings,
  rounds: number,
  seed: number,
): Promise<void> {
  const chance = chanceOf(seed)
  let byPoint = 0
  for (let round = 0; round < rounds; round += 1) {
    await witness.feed(perRound, keys)
    const death = chance() < 0.7 ? deathOf(chance, settings.store !== undefined) : undefined
    const child = new Child('crash/copy-process.ts', { ...settings, death })
    // Without a point to die at, any moment will do; one in three dies before it has begun.
    const isEarly = death === undefined && chance() < 0.33
    await dies(
      child,
      isEarly ? undefined : 'running',
      (isEarly ? 2_000 : 400) * chance(),
      death === undefined,
    )
    if (death !== undefined && child.hasEnded) byPoint += 1
    await witness.checkCommitted()
  }
  assert.ok(byPoint > rounds / 4, `only ${byPoint} died at their point`)
}

function deathOf(chance: () => number, hasStore: boolean): Death {
  const points = deathPoints.filter(
    (point) => hasStore || (point !== 'storing' && point !== 'stored'),
  )
  const point = points[Math.floor(chance() * points.length)] ?? 'handled'
  // Batches are fewer than messages.
  const most = point === 'handling' || point === 'handled' ? 200 : 6
  return { point, count: 1 + Math.floor(chance() * most) }
}

/** Waits for the process's own death, or brings it about. */
async function dies(
  child: Child,
  after: 'running' | undefined,
  moment: number,
  isOurs: boolean,
): Promise<void> {
  // A member that finds nothing to do dies idle.
  if (after !== undefined) {
    await eventually('it runs', () => child.hasEnded || child.lines.includes(after), {
      deadline: 8_000,
    }).catch(() => {})
  }
  const patience = isOurs ? moment : 3_000
  await eventually('its end', () => child.hasEnded, { deadline: patience }).catch(() => {})
  await child.kill()
  assert.doesNotMatch(child.errors, /"level":50/, 'it reported no failure before its death')
}

/** Lets the service finish in peace. */
export async function finish(witness: Witness, settings: CopySettings): Promise<void> {
  const child = new Child('crash/copy-process.ts', settings)
  try {
    // Before it has started, SIGTERM would end it as any other program. All may be handled by then.
    await child.says('started')
    await eventually('all is handled', () => child.hasEnded || witness.isSettled(), {
      deadline: 60_000,
      every: 50,
    })
    child.signal('SIGTERM')
    assert.equal(await child.ended(), 0, child.errors)
  } finally {
    await child.kill()
  }
  await witness.checkAll()
}
