import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from '../jars.ts'
import { type Addon, nativeFile, requireFrom } from './addon.ts'
import { place } from './place.ts'

const limit = 20_000

/** Lets the package fetch its prebuilt native part. Returns why that failed; undefined when there is one now. */
export async function download(addon: Addon): Promise<string | undefined> {
  // In a copy: a download that breaks off, or two at once, must not leave half a file in the package.
  const copy = await mkdtemp(join(tmpdir(), 'pollux-kafka-prebuilt-'))
  try {
    const tool = requireFrom(addon).resolve('@mapbox/node-pre-gyp/bin/node-pre-gyp')
    await cp(join(addon.folder, 'package.json'), join(copy, 'package.json'))
    const args = [tool, 'install', '--update-binary', '--fallback-to-build=false']
    const { code, output } = await runProgram(process.execPath, args, { cwd: copy, timeout: limit })
    if (code === null) return `no answer within ${limit / 1000} s`
    if (code !== 0 || !existsSync(join(copy, 'build', nativeFile))) return firstError(output)
    await place(join(copy, 'build'), addon.build)
    return undefined
  } catch (error: unknown) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

function firstError(output: string): string {
  const line = output.split('\n').find((one) => /ERR! (?!stack)|error/i.test(one))
  return (line ?? 'the download failed')
    .replace(/^.*ERR!\s*/, '')
    .trim()
    .slice(0, 200)
}
