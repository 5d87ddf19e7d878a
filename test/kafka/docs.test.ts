import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { defaultSettings } from '../../src/kafka/client-config.ts'
import { refusedSettings } from '../../src/kafka/refused-settings.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/kafka.md'), 'utf8')

function section(title: string): string {
  return page.split(new RegExp(`^#+ ${title}$`, 'm'))[1]?.split(/^#+ /m)[0] ?? ''
}

function rows(title: string): string[][] {
  const lines = section(title)
    .split('\n')
    .filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

test('docs/kafka.md lists the refused settings as the code has them', () => {
  const expected = refusedSettings.map(({ name, values, reason }) => [
    `\`${name}\``,
    values,
    reason,
  ])
  assert.deepEqual(rows('Settings that are refused'), expected)
})

test('docs/kafka.md lists each default that differs, with its value', () => {
  const written = new Map(
    rows("Defaults that differ from librdkafka's").map(([name = '', here = '']) => [name, here]),
  )
  for (const [name, value] of Object.values(defaultSettings).flatMap((group) =>
    Object.entries(group),
  )) {
    // The heartbeat is a third of the session at most; librdkafka has the same default.
    if (name === 'heartbeat.interval.ms') continue
    assert.equal(written.get(`\`${name}\``), String(value), name)
  }
})
