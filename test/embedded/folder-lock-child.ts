import { lockFolder } from '../../src/embedded/folder-lock.ts'
import { errorText, PolluxError } from '../../src/errors.ts'

// Tries to take a folder, says how that went, and stays until its standard input ends. On each
// input it collects garbage.
const [folder = '', name = ''] = process.argv.slice(2)
try {
  lockFolder(folder, name)
  console.log('locked')
} catch (error) {
  console.log(PolluxError.is(error) ? error.code : errorText(error))
}
process.stdin.on('data', () => {
  void globalThis.gc?.()
  console.log('collected')
})
