#!/usr/bin/env node
// No import stands here, and nothing that an older Node cannot parse: it would fail before it could be told why.
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(`Pollux needs Node 24 or newer, this is ${process.version}.\n`)
  process.exit(2)
}
await import('./start.ts')
