import type { Invocation } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { storeSchema, withStore } from '../open-store.ts'
import { differencesText, sqlText, stepsText, type TablesPlace } from './migration-text.ts'

/** `pollux migrate` */
export async function executeMigrate({ flags, settings, output }: Invocation): Promise<ExitCode> {
  const asks = { json: flags['json'] === true, dryRun: flags['dryRun'] === true }
  const schema = storeSchema(settings)
  const print = (place: TablesPlace, report: object, text: string): Promise<void> =>
    output.write(asks.json ? `${JSON.stringify({ ...place, ...report })}\n` : text)
  return withStore(settings, async (store) => {
    const place = { store: store.name, schema }
    if (flags['verify'] === true) {
      const differences = await store.verify()
      await print(place, { differences }, differencesText(place, differences))
      return differences.length === 0 ? exitCodes.ok : exitCodes.failed
    }
    const steps = await store.migrate({ dryRun: asks.dryRun })
    const text = asks.dryRun ? sqlText(place, steps) : stepsText(place, steps)
    await print(place, { dryRun: asks.dryRun, steps }, text)
    return exitCodes.ok
  })
}
