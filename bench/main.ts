/**
 * Compares Pollux with what a team would write otherwise; README.md says what each benchmark does.
 *
 *   npm run bench -- [consume] [relay] [store] [sidecar] [gate] [latency] [pglite] [--rounds 5]        N=200000 messages
 */
import { parseArgs } from 'node:util'
import { measureGates } from './gate/gate.ts'
import { compareLatencies } from './latency/latency.ts'
import { compareLoops } from './loops/loops.ts'
import { comparePglite } from './pglite/pglite.ts'
import { compareSidecars } from './sidecar/sidecar.ts'
import { compareStores } from './store/store.ts'
import { obeySignals } from './turns.ts'

const benchmarks: Readonly<Record<string, (rounds: number | undefined) => Promise<void>>> = {
  consume: (rounds = 5) => compareLoops('consume', messages(200_000), rounds),
  relay: (rounds = 5) => compareLoops('relay', messages(200_000), rounds),
  store: (rounds = 5) => compareStores(messages(200_000), rounds),
  sidecar: (rounds = 5) => compareSidecars(messages(200_000), rounds),
  gate: (rounds = 3) => measureGates(messages(150_000), rounds),
  latency: (rounds = 1) => compareLatencies(Number(values.seconds), rounds),
  pglite: (rounds = 3) => comparePglite(messages(50_000), rounds),
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string' }, seconds: { type: 'string', default: '20' } },
})
const names = positionals.length === 0 ? ['consume', 'relay'] : positionals
const unknown = names.filter((name) => !Object.hasOwn(benchmarks, name))
if (unknown.length > 0) {
  console.error(
    `No such benchmark: ${unknown.join(', ')}. There are: ${Object.keys(benchmarks).join(', ')}.`,
  )
  process.exit(2)
}
obeySignals()
const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
for (const name of names) await benchmarks[name]?.(rounds)

function messages(byDefault: number): number {
  return Number(process.env.N ?? byDefault)
}
