import { test } from 'node:test'
import { freshName } from '../postgres/server.ts'
import { proveGateOnce } from './gate/prove-gate-once.ts'
import { seed } from './scene.ts'

test(`case 46: three facts about each book, in any order and many twice, members killed again and again: each opens exactly once (POLLUX_SEED=${seed})`, async () => {
  await proveGateOnce({ name: freshName(), books: 3_000, members: 3, deaths: 14, seed })
})
