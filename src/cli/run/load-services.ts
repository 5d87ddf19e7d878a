import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { errorText, PolluxError } from '../../errors.ts'
import type { Service } from '../../service.ts'

/**
 * The services that a TypeScript or JavaScript file exports: by name, as default, in arrays.
 * @throws POLLUX_MODULE_INVALID when the file is missing, does not load, or exports no service or two of one name; what
 * `defineService` and `topic` throw.
 */
export async function loadServices(path: string, folder: string): Promise<readonly Service[]> {
  const full = resolve(folder, path)
  if (!existsSync(full) || !statSync(full).isFile()) {
    throw new PolluxError('POLLUX_MODULE_INVALID', `There is no file ${path}.`, {
      expected: 'the path of a TypeScript or JavaScript module',
      found: existsSync(full) ? `a folder at ${full}` : `nothing at ${full}`,
      hint: 'Name the file that exports the services, as seen from the working folder.',
    })
  }
  return collectServices(await importModule(full, path), path)
}

async function importModule(
  full: string,
  path: string,
): Promise<Readonly<Record<string, unknown>>> {
  const url = pathToFileURL(full).href
  try {
    return (await import(url)) as Record<string, unknown>
  } catch (cause) {
    if (PolluxError.is(cause)) throw cause
    throw new PolluxError('POLLUX_MODULE_INVALID', `The module ${path} cannot be loaded.`, {
      found: `${nameOf(cause)}${errorText(cause)}${placeOf(cause, url)}`,
      hint: hintFor(cause),
      cause,
    })
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : ''
}

/** Where an error comes from: for TypeScript's syntax Node says it before the error's text, else a stack frame does. */
function placeOf(error: unknown, url: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const place =
    lineStart.exec(stack)?.[1] ??
    (stack.includes('at compileSourceTextModule')
      ? syntaxErrorPlace(url)
      : /\(?(file:\/\/\S+:\d+:\d+)/.exec(stack)?.[1])
  return place === undefined ? '' : ` at ${place.replace('file://', '')}`
}

const lineStart = /^((?:file:\/\/)?\/\S*:\d+)\n/

/**
 * Where a JavaScript syntax error is. V8 tells only a process that dies of it, so one is made to: the module does not
 * compile, hence nothing of it is run.
 */
function syntaxErrorPlace(url: string): string | undefined {
  const args = ['--input-type=module', '--eval', `import ${JSON.stringify(url)}`]
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 10_000 })
  return lineStart.exec(stderr)?.[1]
}

const hints: Readonly<Record<string, string>> = {
  ERR_MODULE_NOT_FOUND:
    'Install what is missing, or mend the import; relative imports name the file with its extension.',
  ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX:
    'Node strips types only: enums, namespaces and parameter properties do not run.',
  ERR_UNKNOWN_FILE_EXTENSION: 'Use a .ts, .js or .mjs file.',
}

function hintFor(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? ''
  return hints[code] ?? 'POLLUX_DEBUG=1 shows the stack.'
}

/** @throws POLLUX_MODULE_INVALID */
export function collectServices(
  module: Readonly<Record<string, unknown>>,
  path: string,
): readonly Service[] {
  // A set: one service is often exported by name and as default, too.
  const services = [...new Set(Object.values(module).flat(1).filter(isService))]
  if (services.length === 0) {
    const names = Object.keys(module)
    throw new PolluxError('POLLUX_MODULE_INVALID', `The module ${path} exports no service.`, {
      expected: 'at least one export made by defineService()',
      found: names.length === 0 ? 'no exports' : `the exports ${names.join(', ')}`,
      hint: "Write `export const name = defineService('name', { … })`.",
    })
  }
  const names = services.map(({ name }) => name)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) {
    throw new PolluxError(
      'POLLUX_MODULE_INVALID',
      `The module ${path} exports two services named '${repeated}'.`,
      {
        hint: 'A service’s name is its consumer group: give each its own.',
      },
    )
  }
  return services
}

function isService(value: unknown): value is Service {
  if (typeof value !== 'object' || value === null) return false
  const { name, inputs, options, handle, handleMany } = value as Partial<Service>
  return (
    typeof name === 'string' &&
    Array.isArray(inputs) &&
    typeof options === 'object' &&
    [handle, handleMany].some((one) => typeof one === 'function')
  )
}

/** @throws POLLUX_OPTION_INVALID for a name that no service has. */
export function selectServices(
  services: readonly Service[],
  only: readonly string[] | undefined,
): readonly Service[] {
  if (only === undefined) return services
  const unknown = only.filter((name) => !services.some((service) => service.name === name))
  if (unknown.length > 0) {
    throw new PolluxError(
      'POLLUX_OPTION_INVALID',
      `--only: there is no service ${unknown.map((name) => `'${name}'`).join(', ')}.`,
      {
        expected: services.map(({ name }) => `'${name}'`).join(', '),
      },
    )
  }
  return services.filter(({ name }) => only.includes(name))
}
