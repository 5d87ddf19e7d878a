import { chmod, cp, glob, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fail, root, runCommand } from './command.ts'

/** Compiles `src` to `dist`, which is what the package publishes. */
await rm(join(root, 'dist'), { recursive: true, force: true })
const compiled = await runCommand('tsc', ['-p', 'tsconfig.build.json'], { isShown: true })
if (compiled.code === 0) await finish()
else fail('The build failed.')

async function finish(): Promise<void> {
  // What is read at run time and is no TypeScript: SQL migrations.
  for await (const file of glob('src/**/*.sql', { cwd: root })) {
    await cp(join(root, file), join(root, file.replace(/^src/, 'dist')))
  }
  await chmod(join(root, 'dist/cli/main.js'), 0o755)
}
