import { type ChildProcess, fork } from 'node:child_process'
import type { Logger } from '../../ports/logger.ts'
import { systemClock } from '../../system-clock.ts'
import type { ExitCode } from '../exit-codes.ts'
import { watchSignalPair } from '../stop-signals.ts'
import { type WorkerEvents, WorkerPool, type WorkerProcess } from './worker-pool.ts'

export interface SuperviseOptions {
  readonly count: number
  /** Milliseconds that a worker gives itself to stop. */
  readonly stopTimeout: number
  readonly logger: Logger
}

/** A worker ends by itself at its stop timeout; only one that cannot even do that is killed this much later, in ms. */
const killGrace = 5_000

/** Runs this command line in `count` processes until all have ended. */
export async function superviseWorkers({
  count,
  stopTimeout,
  logger,
}: SuperviseOptions): Promise<ExitCode> {
  // A crash may leave the time until a restart as the only thing to wait for; the clock's timers do not hold Node.
  const alive = setInterval(() => {}, 2 ** 30)
  const pool = new WorkerPool({
    count,
    killAfter: stopTimeout + killGrace,
    clock: systemClock,
    logger,
    start: (number, events) => startWorker(`${number}/${count}`, events, logger),
  })
  watchSignalPair({
    first(signal) {
      logger.info({ signal }, 'stopping all workers: what has begun is finished first')
      pool.stop()
    },
    second(signal) {
      logger.info({ signal }, 'stopping all workers at once')
      pool.hurry()
    },
  })
  try {
    return await pool.done
  } finally {
    clearInterval(alive)
  }
}

function startWorker(name: string, events: WorkerEvents, logger: Logger): WorkerProcess {
  const child = fork(process.argv[1] ?? '', process.argv.slice(2), {
    env: { ...process.env, POLLUX_WORKER: name },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  child.on('message', (message) => {
    if (message === 'ready') events.ready()
  })
  let isOver = false
  const end = (code: number | null, signal: string | null): void => {
    if (!isOver) events.ended(code, signal)
    isOver = true
  }
  child.on('exit', end)
  child.on('error', (error) => {
    logger.warn({ worker: name, error }, 'a worker process had an error')
    // Without a pid it was never started, and no `exit` will come.
    if (child.pid === undefined) end(null, null)
  })
  return { order: (order) => send(child, order), kill: () => child.kill('SIGKILL') }
}

/** Over a channel that is gone already the order goes as a signal. */
function send(child: ChildProcess, order: string): void {
  if (!child.connected) {
    child.kill('SIGTERM')
    return
  }
  child.send(order, (error) => {
    if (error !== null) child.kill('SIGTERM')
  })
}
