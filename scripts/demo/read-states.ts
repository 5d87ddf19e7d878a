import type { StandardSchemaV1 } from '@standard-schema/spec'
import { json } from '../../src/codecs/json.ts'
import type { Store } from '../../src/ports/store.ts'
import type { Service } from '../../src/service.ts'

/** The state that a service keeps of these keys, where it has any. */
export async function readStates<S>(
  store: Store,
  service: Service,
  schema: StandardSchemaV1<unknown, S>,
  keys: readonly string[],
): Promise<ReadonlyMap<string, S>> {
  const { states } = await store.load(
    service.name,
    keys.map((key) => Buffer.from(key)),
    [],
  )
  const codec = json(schema)
  const found = new Map<string, S>()
  for (const [index, { value }] of states.entries()) {
    if (value !== null) found.set(keys[index] ?? '', await codec.decode(value))
  }
  return found
}
