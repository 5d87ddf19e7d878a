import type { Invocation } from '../command.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { nameList, readFlags } from '../flags.ts'
import { loadServices, selectServices } from './load-services.ts'
import { runServices } from './run-services.ts'
import { StopControl } from './stop-control.ts'
import { superviseWorkers } from './supervise-workers.ts'

/** `pollux run <module>`: in this process, or in several that this one supervises. */
export async function executeRun(invocation: Invocation): Promise<ExitCode> {
  const { logger, settings } = invocation
  const isWorker = process.env['POLLUX_WORKER'] !== undefined && process.send !== undefined
  const { workers, stopTimeout } = settings.settings
  const { only } = readFlags<{ only: readonly string[] }>({ only: nameList }, invocation.flags)
  if (workers > 1 && !isWorker) return superviseWorkers({ count: workers, stopTimeout, logger })
  const control = new StopControl(logger)
  if (isWorker) control.watchSupervisor()
  else control.watchSignals()
  const [path = ''] = invocation.args
  const loading = loadServices(path, process.cwd())
  // Nothing has begun yet, so a stop has nothing to wait for.
  await Promise.race([loading, once(control.signal)])
  if (control.signal.aborted) return exitCodes.ok
  const services = selectServices(await loading, only)
  return runServices(invocation, services, control, () => {
    if (isWorker) process.send?.('ready')
  })
}

function once(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve())
  })
}
