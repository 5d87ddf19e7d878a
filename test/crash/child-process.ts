import { CrashProcess } from '../../src/testing/index.ts'

/** A process of a test: one of the scripts beside the tests, which prints lines. */
export class Child extends CrashProcess {
  /** `script` is below `test/`; `settings` reach it as JSON in its first argument. */
  constructor(script: string, settings: object, nodeOptions: readonly string[] = []) {
    super(new URL(`../${script}`, import.meta.url), {
      args: [JSON.stringify(settings)],
      nodeOptions,
    })
  }
}
