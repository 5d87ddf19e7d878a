import { existsSync } from 'node:fs'
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { nativeFile } from './addon.ts'

/**
 * Copies the native part from one build folder to another, the libraries first. Each file is written beside its
 * place and renamed: whoever looks meanwhile sees all of it or nothing.
 */
export async function place(from: string, to: string): Promise<void> {
  const libraries = existsSync(join(from, 'deps')) ? await readdir(join(from, 'deps')) : []
  // Only what is loaded; the archives for linking are large.
  const loaded = libraries
    .filter((name) => /\.so\.\d+$|\.dylib$/.test(name))
    .map((name) => join('deps', name))
  for (const file of [...loaded, nativeFile]) await placeFile(join(from, file), join(to, file))
}

async function placeFile(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  const fresh = `${to}.${process.pid}`
  try {
    await copyFile(from, fresh)
    await rename(fresh, to)
  } finally {
    await rm(fresh, { force: true })
  }
}
