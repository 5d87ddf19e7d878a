import assert from 'node:assert/strict'
import { it } from 'node:test'
import { importDriver } from '../../src/kafka/driver.ts'

it('a native part that is missing is told without the loader’s list, which was cut off', async () => {
  const loader = "throw new Error('Could not locate the bindings file. Tried:\\n → /a/b.node')"
  await assert.rejects(importDriver(`data:text/javascript,${encodeURIComponent(loader)}`), {
    code: 'POLLUX_DRIVER_MISSING',
    found: 'Could not locate the bindings file',
  })
})
