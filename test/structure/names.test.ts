import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../scripts/command.ts'

// Whoever adds one over it should first look for one to take away.
const most = 55

test('the package has few enough public names to be learned', async () => {
  const code = await readFile(join(root, 'src/index.ts'), 'utf8')
  const names = [...code.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list.split(',').filter((name) => name.trim() !== ''),
  )
  assert.ok(names.length > 20 && names.length <= most, `${names.length} names`)
})
