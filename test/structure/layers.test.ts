import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { test } from 'node:test'
import { root } from '../../scripts/command.ts'

interface Layer {
  /** Globs below the repository. The first layer that matches a file owns it. */
  readonly files: readonly string[]
  /** Layers it may import, beside itself. */
  readonly imports: readonly string[]
  /** Layers whose types alone it may import. */
  readonly types?: readonly string[]
}

const adapters = ['kafka', 'embedded', 'postgres', 'mysql', 'redis', 'dynamodb', 'hybrid']
/** Those whose stores speak PostgreSQL's SQL. */
const sqlAdapters = ['embedded', 'postgres']
/** Those that sidecars write to. */
const targetAdapters = ['postgres', 'mysql', 'redis']
const inner = ['vocabulary', 'ports', 'engine']

const layers: Readonly<Record<string, Layer>> = {
  index: { files: ['src/index.ts'], imports: [...inner, 'run', 'clock', 'patterns', 'cli config'] },
  run: { files: ['src/run.ts'], imports: [...inner, 'clock', 'admin', 'telemetry'] },
  clock: { files: ['src/system-clock.ts'], imports: ['ports'] },
  vocabulary: {
    files: ['src/*.ts', 'src/{codecs,dead-letter,failures}/**'],
    imports: [],
    types: ['ports'],
  },
  ports: { files: ['src/ports/**'], imports: ['vocabulary'] },
  engine: { files: ['src/engine/**'], imports: ['vocabulary', 'ports'] },
  patterns: { files: ['src/patterns/**'], imports: ['vocabulary'], types: ['ports'] },
  telemetry: { files: ['src/telemetry/**'], imports: ['vocabulary', 'ports'] },
  admin: { files: ['src/admin/**'], imports: ['vocabulary', 'ports', 'telemetry'] },
  rows: { files: ['src/rows/**'], imports: ['vocabulary', 'ports'] },
  sql: { files: ['src/sql/**'], imports: ['vocabulary', 'ports'] },
  ...Object.fromEntries(
    adapters.map((name): [string, Layer] => [
      name,
      {
        files: [`src/${name}/**`],
        imports: [
          'vocabulary',
          'ports',
          'clock',
          ...(sqlAdapters.includes(name) ? ['sql'] : []),
          ...(targetAdapters.includes(name) ? ['rows'] : []),
        ],
      },
    ]),
  ),
  testing: { files: ['src/testing/**'], imports: [...inner, 'clock', 'run', 'embedded'] },
  'cli config': {
    files: ['src/cli/config.ts'],
    imports: [],
    types: [...inner, ...adapters, 'cli'],
  },
  cli: {
    files: ['src/cli/**'],
    imports: [
      ...inner,
      ...adapters,
      'patterns',
      'index',
      'run',
      'clock',
      'admin',
      'telemetry',
      'cli config',
    ],
  },
}

function layerOf(file: string): string | undefined {
  return Object.keys(layers).find((name) =>
    layers[name]?.files.some((glob) => posix.matchesGlob(file, glob)),
  )
}

interface Import {
  readonly from: string
  readonly to: string
  readonly isType: boolean
}

const statement = /^(?:import|export)\s+(type\s)?(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm
const dynamic = /(?:typeof\s+)?\bimport\(\s*['"]([^'"]+)['"]\s*\)/g

async function importsOf(from: string): Promise<Import[]> {
  const code = await readFile(join(root, from), 'utf8')
  const to = (path: string): string =>
    path.startsWith('.') ? posix.join(posix.dirname(from), path) : path
  return [
    ...[...code.matchAll(statement)].map(([, type, path = '']) => ({
      from,
      to: to(path),
      isType: type !== undefined,
    })),
    ...[...code.matchAll(dynamic)].map(([text, path = '']) => ({
      from,
      to: to(path),
      isType: text.startsWith('typeof'),
    })),
  ]
}

function mistakeIn({ from, to, isType }: Import): string | undefined {
  if (!to.startsWith('src/')) return undefined
  const [source, target] = [layerOf(from), layerOf(to)]
  if (source === undefined || target === undefined) {
    return `${source === undefined ? from : to} belongs to no layer; give it one in ${import.meta.filename}`
  }
  const { imports, types = [] } = layers[source] as Layer
  if (source === target || imports.includes(target) || (isType && types.includes(target))) {
    return undefined
  }
  const allowed = [...imports, ...types.map((name) => `types of ${name}`)].join(', ')
  return `${from} (${source}) imports ${to} (${target}); ${source} may import ${allowed || 'nothing'}`
}

const files = await Array.fromAsync(glob('src/**/*.ts', { cwd: root }))
const imports = (await Promise.all(files.map(importsOf))).flat()

test('imports flow from the outside to the vocabulary only', () => {
  assert.ok(imports.length > 20, 'the imports were not found')
  assert.deepEqual(imports.map(mistakeIn).filter(Boolean), [])
})

test('a wrong import would be noticed', () => {
  const wrong = { from: 'src/engine/lanes.ts', to: 'src/kafka/index.ts', isType: true }
  assert.match(mistakeIn(wrong) ?? '', /engine may import vocabulary, ports/)
  assert.match(mistakeIn({ ...wrong, from: 'src/service.ts' }) ?? '', /types of ports/)
  assert.match(mistakeIn({ ...wrong, to: 'src/strange/index.ts' }) ?? '', /belongs to no layer/)
})

test('optional peers are imported by their own adapter only', () => {
  const owners: Readonly<Record<string, RegExp>> = {
    '@confluentinc/kafka-javascript': /^src\/kafka\//,
    '@electric-sql/pglite': /^src\/embedded\//,
    pg: /^src\/postgres\//,
    mysql2: /^src\/mysql\//,
    'mysql2/promise': /^src\/mysql\//,
    '@redis/client': /^src\/redis\//,
  }
  const peers = imports.filter(({ to }) => to in owners)
  assert.deepEqual(
    peers.filter(({ from, to }) => !owners[to]?.test(from)),
    [],
  )
})

test('time, chance and the process are unknown to engine and vocabulary', async () => {
  // The linter says so too; this also sees `globalThis.Date` and destructured names.
  const forbidden =
    /\b(Date|performance|setTimeout|setInterval|setImmediate|process|randomUUID)\b(?!\s*:)|Math\.random|node:timers/
  const isPure = (file: string): boolean =>
    ['vocabulary', 'ports', 'engine', 'patterns'].includes(layerOf(file) ?? '')
  for (const file of files.filter(isPure)) {
    const code = withoutComments(await readFile(join(root, file), 'utf8'))
    assert.doesNotMatch(code, forbidden, `${file} takes time, chance or the process from elsewhere`)
  }
})

test('no file is longer than 400 lines', async () => {
  for (const file of files) {
    const lines = (await readFile(join(root, file), 'utf8')).split('\n').length
    assert.ok(lines <= 401, `${file} has ${lines} lines`)
  }
})

function withoutComments(code: string): string {
  return code
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
    .replaceAll(/(['"`])(?:(?!\1)[^\\\n]|\\.)*\1/g, "''")
}
