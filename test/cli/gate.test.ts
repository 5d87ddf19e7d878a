import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pgliteStore } from '../../src/embedded/pglite-store.ts'
import type { Service } from '../../src/index.ts'
import { testRuntime } from '../../src/testing/index.ts'
import type { Topic } from '../../src/topic.ts'
import { Workplace } from './cli-process.ts'
import { gateModule } from './gate-module.ts'

const place = new Workplace()
after(() => place[Symbol.dispose]())

interface Module {
  readonly publishing: Service
  readonly prices: Topic<'prices', string, number>
}

test('pollux gate looks into the embedded store, too', async () => {
  const path = join(place.folder, place.write('services.ts', gateModule('book_readiness')))
  const missing = await place.pollux(['gate', 'list', 'services.ts'])
  assert.equal(missing.code, 2)
  assert.match(missing.stderr, /There is no embedded store in \.pollux\/store[\s\S]*--postgres/)
  const { publishing, prices } = (await import(path)) as Module
  const store = pgliteStore({ folder: join(place.folder, '.pollux/store') })
  const runtime = await testRuntime(publishing, { store })
  await runtime.send(prices.message({ key: 'dune', value: 12.5 }))
  await runtime.settled()
  await runtime.stop()
  const shown = await place.output(['gate', 'show', 'services.ts', 'dune'])
  assert.match(shown, /^stage {4}waiting\n(.*\n)*words {2}waiting\nprice {2}\S+Z {2}12\.5\n$/m)
})

test('A service that takes batches, such as a gate, is one for the other commands, too', async () => {
  place.write('services.ts', gateModule('book_readiness'))
  assert.match(
    await place.output(['explain', 'services.ts', '--only', 'publishing']),
    /^publishing\n/,
  )
})
