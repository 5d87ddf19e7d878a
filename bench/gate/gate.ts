import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fill, makeTopics, removeFromKafka } from '../kafka-topics.ts'
import type { Figures } from '../meter.ts'
import { checkpoint, withSchema } from '../store/database.ts'
import { median, printTable } from '../table.ts'
import { runContestant, takeTurns } from '../turns.ts'
import { factRecords, type GateTask } from './task.ts'

const script = new URL('pollux.ts', import.meta.url)

/** Measures a gate of three facts whose facts come in a random order: on Kafka and PostgreSQL, and on the embedded two. */
export async function measureGates(messages: number, rounds: number): Promise<void> {
  const group = `pollux-bench-gate-${process.pid}`
  const inputs = ['text', 'cover', 'price'].map((fact) => `${group}-${fact}`)
  const output = `${group}-out`
  const keys = Math.ceil(messages / inputs.length)
  const task = { group, inputs, output, keys }
  await makeTopics(...inputs, output)
  try {
    const records = factRecords(inputs, keys)
    await fill(records.length, (index) => records[index] ?? never())
    const contestants = { PostgreSQL: onPostgres, PGlite: onPglite }
    const names = Object.keys(contestants) as (keyof typeof contestants)[]
    const results = await takeTurns(names, rounds, (name) => contestants[name](task))
    const title = `gate: ${records.length} facts of 200 bytes of ${keys} keys, median of ${rounds} rounds`
    printTable(
      title,
      [...results],
      [
        { heading: '', show: ([name]) => name },
        {
          heading: 'facts/s',
          show: ([, runs]) => median(runs.map((run) => run.messages / run.seconds)).toFixed(0),
        },
        {
          heading: 'µs CPU/fact',
          show: ([, runs]) => median(runs.map((run) => run.cpuMicroseconds)).toFixed(1),
        },
      ],
    )
  } finally {
    await removeFromKafka([group], [...inputs, output])
  }
}

function onPostgres(task: GateTask): Promise<Figures> {
  return withSchema(async (schema, database) => {
    await database.query(`create schema ${schema}`)
    await checkpoint(database)
    const figures = await runContestant<Figures>(script, { ...task, schema })
    await removeFromKafka([task.group], [])
    const { rows } = await database.query<{ readonly opened: string }>(
      `select count(opened_at) as opened from ${schema}.book_readiness`,
    )
    // Who has not done the work is not fast.
    if (Number(rows[0]?.opened) !== task.keys)
      throw new Error(`${rows[0]?.opened} gates are open, expected ${task.keys}`)
    return figures
  })
}

async function onPglite(task: GateTask): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-bench-'))
  try {
    return await runContestant<Figures>(script, { ...task, folder })
  } finally {
    await rm(folder, { recursive: true })
  }
}

function never(): never {
  throw new Error('no such record')
}
