import { test } from 'node:test'
import { alternatives, largeConfigurations, smallConfigurations } from './configurations.ts'
import { assertHolds } from './expectations.ts'
import { protocolMachine } from './protocol-machine.ts'

for (const [name, configuration] of Object.entries(smallConfigurations))
  test(`The protocol holds: ${name}`, () => assertHolds(protocolMachine(configuration)))

for (const [name, configuration] of Object.entries(alternatives))
  test(`It also holds with ${name}`, () => assertHolds(protocolMachine(configuration)))

if (process.env['POLLUX_MODEL'] === 'full') {
  for (const [name, configuration] of Object.entries(largeConfigurations))
    test(`The protocol holds, large: ${name}`, () => assertHolds(protocolMachine(configuration)))
} else {
  test('The protocol holds in large configurations', { skip: 'POLLUX_MODEL=full runs them' })
}
