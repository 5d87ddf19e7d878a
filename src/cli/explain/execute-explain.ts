import { explain } from '../../explain.ts'
import type { Invocation } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { nameList, readFlags } from '../flags.ts'
import { openStore } from '../open-store.ts'
import { loadServices, selectServices } from '../run/load-services.ts'
import { explanationText } from './explanation-text.ts'

/** `pollux explain <module>` */
export async function executeExplain({
  args,
  flags,
  settings,
  output,
}: Invocation): Promise<ExitCode> {
  const { only } = readFlags<{ only: readonly string[] }>({ only: nameList }, flags)
  const [path = ''] = args
  const services = selectServices(await loadServices(path, process.cwd()), only)
  // Making a store connects to nothing yet.
  const { name: store } = await openStore(settings)
  const texts = services.map((service) => {
    const explanation = explain(service)
    const kept = explanation.state.choice === 'store' ? store : null
    return flags['json'] === true
      ? `${JSON.stringify({ ...explanation, store: kept })}\n`
      : explanationText(explanation, kept)
  })
  await output.write(texts.join(flags['json'] === true ? '' : '\n'))
  return exitCodes.ok
}
