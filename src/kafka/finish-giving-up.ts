import type { DriverConsumer } from './driver.ts'

// Stopping is a task of the driver's main thread, and the report of it another one, behind the first question.
const questions = 2

/**
 * Waits until the driver has done what the answer to a revocation started. Closed in between, librdkafka forgets that it
 * was to leave (`rd_kafka_cgrp_incr_unassign_done` in a group that terminates), and the group waits for the end of
 * the session:
 *
 * the answer asks the partitions' fetchers to stop → close → they have stopped → no LeaveGroup is sent
 *
 * Its main thread does one task after the other, and answering a question is one of them.
 */
export function finishGivingUp(consumer: DriverConsumer): void {
  for (let count = 0; count < questions; count += 1) consumer.subscription()
}
