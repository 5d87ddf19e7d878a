import { durationText, milliseconds } from '../duration.ts'
import type { BrokerAdmin } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Service } from '../service.ts'
import type { AnyTopic } from '../topic.ts'

/**
 * Warns when topics keep records for longer than the service remembers their events: one that is read again after the
 * window (offsets that were reset, a producer that repeats itself late) would have its effect twice.
 *
 * Kafka's clients do not let a topic's retention be asked for everywhere, so this goes by what the topic's declaration says and by
 * what the log holds.
 */
export async function checkWindow(
  service: Service,
  {
    admin,
    clock,
    logger,
  }: {
    readonly admin: BrokerAdmin
    readonly clock: Clock
    readonly logger: Logger
  },
): Promise<void> {
  const rule = service.idempotency
  if (rule?.by !== 'event-id') return
  for (const topic of service.inputs) {
    const isLonger =
      declaredRetention(topic) > rule.window ||
      (await holdsOlder(admin, topic.name, clock.now() - rule.window))
    if (!isLonger) continue
    logger.warn(
      { topic: topic.name, window: durationText(rule.window) },
      'the topic keeps records for longer than their events are remembered: one read again after the window has its effect twice; make idempotency.window at least the retention',
    )
  }
}

function declaredRetention({ create }: AnyTopic): number {
  const given = create.config?.['retention.ms']
  if (given === undefined) return 0
  return Number(given) < 0 ? Number.POSITIVE_INFINITY : milliseconds(Number(given))
}

async function holdsOlder(admin: BrokerAdmin, topic: string, time: number): Promise<boolean> {
  const [ranges, younger] = await Promise.all([
    admin.ranges([topic]),
    admin.offsetsAt(topic, Math.max(0, time)),
  ])
  return ranges.some(({ partition, earliest }) =>
    younger.some((first) => first.partition === partition && first.offset > earliest),
  )
}
