import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from './command.ts'
import { optionsPage } from './docs/options-page.ts'

/** `npm run docs`: writes the pages that follow from the code. A test fails when they are behind. */
await writeFile(join(root, 'docs/options.md'), optionsPage())
console.log('Wrote docs/options.md')
