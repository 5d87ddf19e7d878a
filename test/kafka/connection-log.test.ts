import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import { connectClient } from '../../src/kafka/connect-client.ts'
import { ConnectionLog } from '../../src/kafka/connection-log.ts'
import type { DriverClient } from '../../src/kafka/driver.ts'
import { brokerError } from '../../src/kafka/errors.ts'
import { Secrets } from '../../src/kafka/secrets.ts'
import { keepingLogger } from './support.ts'

function watched(): {
  readonly client: EventEmitter
  readonly log: ConnectionLog
  readonly lines: string[]
  say(message: string, severity?: number): void
} {
  const client = new EventEmitter()
  const { lines, logger } = keepingLogger()
  const secrets = new Secrets()
  secrets.add('hunter2')
  const log = new ConnectionLog(client as unknown as DriverClient, logger, secrets, 'k:9092')
  const say = (message: string, severity = 3): void =>
    void client.emit('event.log', { severity, fac: 'FAIL', message })
  return { client, log, lines, say }
}

describe('the log of a connection', () => {
  it('case 72: shows no secret that the client mentions, in lines, reasons and errors', () => {
    const { client, log, lines, say } = watched()
    say('[thrd:x]: k:9092/bootstrap: SASL PLAIN with hunter2 failed (after 3ms in state AUTH)')
    client.emit('event.error', new Error('all broker connections are down: hunter2'))
    client.emit('error', new Error('token for hunter2 failed'))
    const secrets = new Secrets()
    secrets.add('hunter2')
    const error = brokerError(
      'It failed',
      Object.assign(new Error('for hunter2'), { code: 29 }),
      secrets,
    )
    assert.ok(lines.length >= 4)
    for (const text of [...lines, log.reason ?? '', error.message, String(error.found)]) {
      assert.ok(!text.includes('hunter2'), text)
    }
    assert.match(error.message, /\*\*\*/)
  })

  it('keeps the reason of the last failure, without the frame around it', () => {
    const { log, say } = watched()
    say(
      '[thrd:127.0.0.1:1/bootstrap]: 127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT, 1 identical error(s) suppressed)',
    )
    assert.equal(
      log.reason,
      '127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused',
    )
    say('[thrd:main]: just news', 6)
    assert.match(log.reason ?? '', /refused/)
  })

  it('tells once that the brokers are gone, and once that they are back', () => {
    const { client, log, lines } = watched()
    const down = new Error('all broker connections are down')
    const told = (): string[] => lines.filter((line) => !line.startsWith('debug'))
    log.isUp()
    assert.deepEqual(told(), [])
    for (let round = 1; round <= 2; round += 1) {
      for (let index = 0; index < 5; index += 1) client.emit('event.error', down)
      log.isUp()
      log.isUp()
      assert.equal(told().length, 2 * round)
    }
    assert.match(told()[0] ?? '', /^warn .*does not answer/)
    assert.match(told()[1] ?? '', /^info .*answers again/)
  })

  it('tells an outage once, however many clients are tried before one connects', async () => {
    const { lines, logger } = keepingLogger()
    let made = 0
    const make = (): DriverClient => {
      made += 1
      const isRight = made === 4
      return Object.assign(new EventEmitter(), {
        connect(this: EventEmitter, _: unknown, done: (error: Error | null) => void) {
          if (!isRight) this.emit('event.error', new Error('all broker connections are down'))
          setImmediate(done, isRight ? null : new Error('timed out'))
        },
      }) as unknown as DriverClient
    }
    const closed = new AbortController().signal
    const context = { logger, secrets: new Secrets(), where: 'k:9092', closed }
    await connectClient(make, context, 60_000)
    assert.equal(made, 4)
    const told = lines.filter((line) => !line.startsWith('debug'))
    assert.equal(told.length, 2, told.join())
    assert.match(told[0] ?? '', /^warn .*does not answer/)
    assert.match(told[1] ?? '', /^info .*answers again/)
  })
})
