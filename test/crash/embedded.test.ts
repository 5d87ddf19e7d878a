import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { embeddedBroker, pgliteStore } from '../../src/embedded/index.ts'
import type { CopySettings } from './copy-process.ts'
import { finish, killAgainAndAgain } from './rounds.ts'
import { Witness } from './witness.ts'

const seed = Number(process.env['POLLUX_SEED'] ?? Date.now() % 1_000_000)
const rounds = Number(process.env['POLLUX_ROUNDS'] ?? 50)
const names = { input: 'numbers', output: 'copies', group: 'copying' }

test(`killed again and again, without a store: nothing is lost (POLLUX_SEED=${seed})`, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-crash-'))
  const witness = new Witness(embeddedBroker({ folder }), names)
  const settings: CopySettings = { broker: { folder }, ...names }
  try {
    await witness.open(4)
    await killAgainAndAgain(witness, [settings, settings], { rounds, seed })
    await finish(witness, settings)
  } finally {
    await witness.close()
    await rm(folder, { recursive: true })
  }
})

test(`killed again and again, with state: nothing is lost, and each effect is there once (POLLUX_SEED=${seed})`, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pollux-crash-'))
  const store = join(folder, 'store')
  const witness = new Witness(embeddedBroker({ folder }), names)
  const settings = { broker: { folder }, store, ...names }
  try {
    await witness.open(4)
    // Making the database takes long; the deaths shall hit the service.
    const made = pgliteStore({ folder: store })
    await made.open()
    await made.close()
    await killAgainAndAgain(witness, [settings], { rounds: Math.ceil(rounds / 2), seed: seed + 2 })
    await finish(witness, settings)
    const opened = pgliteStore({ folder: store })
    await opened.open()
    const counts = [...witness.counts()]
    const rows = await opened.load(
      names.group,
      counts.map(([key]) => Buffer.from(key)),
    )
    await opened.close()
    assert.deepEqual(
      rows.map(({ value }, index) => [counts[index]?.[0], Number(value)]),
      counts,
    )
    assert.ok(witness.copies > witness.total, 'some outputs were sent again, so the kills did hit')
  } finally {
    await witness.close()
    await rm(folder, { recursive: true })
  }
})
