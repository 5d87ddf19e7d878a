export type { Capability } from './capability.ts'
export { defineConfig, type PolluxConfig } from './cli/config.ts'
export { bytes } from './codecs/bytes.ts'
export { type Codec, nullable } from './codecs/codec.ts'
export { type JsonOptions, json } from './codecs/json.ts'
export { text } from './codecs/text.ts'
export type { Duration } from './duration.ts'
export type { ServiceCounts } from './engine/counts.ts'
export type { Readiness, Runtime, StopReport } from './engine/runtime.ts'
export { type ErrorCode, PolluxError } from './errors.ts'
export { NonRetryableError, RetryableError } from './handler-errors.ts'
export type { Idempotency } from './idempotency.ts'
export type { Header, Headers, Message, RawMessage } from './message.ts'
export { delegate } from './patterns/delegate.ts'
export { fact } from './patterns/gate/fact.ts'
export { gates } from './patterns/gate/gates.ts'
export { gate } from './patterns/gate.ts'
export { httpCall } from './patterns/http-call.ts'
export { router } from './patterns/router.ts'
export { sidecar } from './patterns/sidecar.ts'
export type { Broker } from './ports/broker.ts'
export type { Clock } from './ports/clock.ts'
export type { Logger } from './ports/logger.ts'
export type { Store } from './ports/store.ts'
export type { Target } from './ports/target.ts'
export { type RunOptions, run } from './run.ts'
export type { RuntimeOptions } from './runtime-options.ts'
export type { ScheduledContext } from './schedule.ts'
export {
  type BatchResult,
  defineService,
  type HandlerContext,
  type MessageResult,
  type Service,
  type ServiceDefinition,
  type State,
  type StatefulContext,
} from './service.ts'
export type { Order, Publish } from './service-options.ts'
export { type MessageOf, type OutputMessage, type Topic, topic } from './topic.ts'
