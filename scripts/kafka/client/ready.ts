import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Addon, clientPackage, findAddon, loadProblem, nativeFile } from './addon.ts'
import { compile } from './compile.ts'
import { download } from './download.ts'
import { place } from './place.ts'

/**
 * Makes the native part of the client ready: as it is, else from the cache, else prebuilt from its makers, else
 * compiled here. Returns how. What was fetched or compiled is kept in the cache.
 */
export async function makeClientReady(): Promise<string> {
  const addon = await findAddon()
  const title = `${clientPackage} ${addon.version} for Node ${process.version}`
  const problem = await loadProblem(addon.build)
  if (problem === undefined) {
    await keep(addon)
    return `${title} is ready.`
  }
  if (await useCached(addon)) return `${title} is ready, taken from ${addon.cached}.`
  console.log(`The native part of ${title} cannot be used: ${problem}. Trying the prebuilt one.`)
  const reason = (await download(addon)) ?? (await loadProblem(addon.build))
  if (reason === undefined) {
    await keep(addon)
    return `${title} is ready, as its makers built it.`
  }
  console.log(`No prebuilt one: ${reason}. Compiling; this takes about four minutes.`)
  await compile(addon)
  await keep(addon)
  return `${title} is ready, compiled here.`
}

async function useCached(addon: Addon): Promise<boolean> {
  if ((await loadProblem(addon.cached)) !== undefined) return false
  await place(addon.cached, addon.build)
  return (await loadProblem(addon.build)) === undefined
}

async function keep(addon: Addon): Promise<void> {
  if (!existsSync(join(addon.cached, nativeFile))) await place(addon.build, addon.cached)
}
