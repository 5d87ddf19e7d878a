import { eventually } from '../eventually.ts'
import { chanceOf, shuffled } from './chance.ts'
import type { Crash, CrashPoint } from './crash-points.ts'
import type { CrashProcess } from './crash-process.ts'

/** What `crashAgainAndAgain` needs. */
export interface CrashRounds {
  /** For each member of the group, what starts its process. Members die independently of each other. */
  readonly members: readonly ((crash: Crash | undefined) => CrashProcess)[]
  /** Where they die; `crashPointsOf` gives all points that a service passes. */
  readonly points: readonly CrashPoint[]
  /** How many processes die. Default: three at each point, and three at any moment. */
  readonly rounds?: number | undefined
  /** Chance is replayable. */
  readonly seed: number
  /** Gives the service something to do: so much that each member gets to all points. Called before each start, and again while one waits. */
  feed(): Promise<void>
  /** Looks, after each death, whether all is right. The other members go on meanwhile. */
  check(): Promise<void>
}

/** How often processes have died where. */
export type Deaths = ReadonlyMap<CrashPoint | 'any moment', number>

/**
 * Lets members of a service die again and again, each followed by its own successor: at each point equally often, or at
 * any moment of their life, start included.
 */
export async function crashAgainAndAgain(plan: CrashRounds): Promise<Deaths> {
  const { members, points, seed } = plan
  const { rounds = 3 * (points.length + 1) } = plan
  const deaths = new Map<CrashPoint | 'any moment', number>()
  const left = deathsOf(points, rounds, seed)
  const failures: unknown[] = []
  let misses = 0
  const killOne = async (start: CrashRounds['members'][number]): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const hasHit = await die(start, next, plan)
      if (hasHit) {
        deaths.set(next.at, (deaths.get(next.at) ?? 0) + 1)
        continue
      }
      misses += 1
      if (misses > rounds) throw new Error(`Too many did not get to their point: ${next.at}`)
      if (failures.length === 0) left.push({ ...next, count: 1 })
    }
  }
  const failed = (error: unknown): void => {
    failures.push(error)
    // The others go no further, and are waited for: nothing of them is left when this ends.
    left.length = 0
  }
  await Promise.all(members.map((start) => killOne(start).catch(failed)))
  if (failures.length > 0) throw failures[0]
  return deaths
}

function deathsOf(points: readonly CrashPoint[], rounds: number, seed: number): Death[] {
  const chance = chanceOf(seed)
  const kinds = [...points, 'any moment'] as const
  const deaths: Death[] = []
  while (deaths.length < rounds)
    deaths.push(...shuffled(kinds, chance).map((at) => death(at, chance)))
  return deaths.slice(0, rounds)
}

interface Death {
  readonly at: CrashPoint | 'any moment'
  readonly count: number
  /** From 0 to below 1; with `any moment`, when. */
  readonly moment: number
}

const oncePerMessage: readonly string[] = ['handling', 'handled']
// Few of them come in the life of a process.
const rare: readonly string[] = ['acquired', 'acknowledging outputs']

function death(at: Death['at'], chance: () => number): Death {
  let most = 4
  if (oncePerMessage.includes(at)) most = 40
  if (rare.includes(at)) most = 1
  return { at, count: 1 + Math.floor(chance() * most), moment: chance() }
}

// A member that does not get to its point may have nothing to do: it is fed so often before it is killed.
const meals = 5
const patience = 1_000

/** One process from its start to its death; whether it died where it should. */
async function die(
  start: CrashRounds['members'][number],
  { at, count, moment }: Death,
  { feed, check }: CrashRounds,
): Promise<boolean> {
  await feed()
  const process = start(at === 'any moment' ? undefined : { point: at, count })
  try {
    if (at === 'any moment') await liveFor(process, moment)
    else await liveUntilCrash(process, feed)
  } finally {
    await process.kill()
  }
  if (process.exitCode !== null)
    throw new Error(`It ended by itself, with ${process.exitCode}:\n${process.errors}`)
  await check()
  return at === 'any moment' || process.crashedAt === at
}

/** One in three dies before it has begun, the others in the middle of their work. */
async function liveFor(process: CrashProcess, moment: number): Promise<void> {
  const isEarly = moment < 0.33
  if (!isEarly) await ends(process, () => process.isWorking, 5_000)
  await ends(process, () => false, isEarly ? moment * 3_000 : moment * 500)
}

async function liveUntilCrash(process: CrashProcess, feed: () => Promise<void>): Promise<void> {
  await ends(process, () => process.hasStarted, 20_000)
  for (let meal = 0; meal < meals && !process.hasEnded; meal += 1) {
    if (meal > 0) await feed()
    await ends(process, () => false, patience)
  }
}

/** Waits for the end of a process or something else, within a time. */
async function ends(process: CrashProcess, or: () => boolean, deadline: number): Promise<void> {
  await eventually('its end', () => process.hasEnded || or(), { deadline }).catch(() => {})
}

/**
 * Lets the members finish in peace: they run until all is settled, and stop by SIGTERM with exit code 0.
 * `deadline` in milliseconds; default 60 000.
 */
export async function finishInPeace(
  members: readonly ((crash: undefined) => CrashProcess)[],
  isSettled: () => Promise<boolean>,
  deadline = 60_000,
): Promise<void> {
  const processes = members.map((start) => start(undefined))
  const failed = (): CrashProcess | undefined => processes.find(({ hasEnded }) => hasEnded)
  try {
    for (const process of processes) await process.starts()
    await eventually('all is settled', async () => failed() !== undefined || (await isSettled()), {
      deadline,
      every: 50,
    }).catch((cause: unknown) => {
      const told = processes.map(({ errors }) => errors).join('\n')
      throw new Error(`It is stuck. What the processes told:\n${told}`, { cause })
    })
    for (const process of processes) process.signal('SIGTERM')
    for (const process of processes) {
      const code = await process.ended()
      if (code !== 0) throw new Error(`It ended with ${code}:\n${process.errors}`)
    }
  } finally {
    await Promise.all(processes.map((process) => process.kill()))
  }
}
