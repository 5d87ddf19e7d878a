import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { root } from '../../scripts/command.ts'
import { type Page, readPages } from './markdown.ts'

const pages = await readPages()

function linksOf({
  path,
  text,
}: Page): { from: string; path: string; anchor: string | undefined }[] {
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '').replaceAll(/`[^`\n]*`/g, '')
  return [...prose.matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)|\bsrc="([^"]+)"/g)]
    .map(([, link, source]) => link ?? source ?? '')
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [target = '', anchor] = link.split('#')
      const file = target === '' ? path : relative(root, join(root, dirname(path), target))
      return { from: path, path: file, anchor }
    })
}

/** A heading's anchor, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}

test('each relative link in the documentation leads to a file of the repository', () => {
  const links = pages.flatMap(linksOf)
  assert.ok(links.length > 0, 'no link was found')
  assert.deepEqual(
    links.filter(({ path }) => path.startsWith('..') || !existsSync(join(root, path))),
    [],
  )
})

test('each anchor in a link is a heading of the page it leads to', () => {
  const anchors = new Map(
    pages.map(({ path, text }) => [
      path,
      [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)),
    ]),
  )
  const lost = pages
    .flatMap(linksOf)
    .filter(
      ({ path, anchor }) => anchor && anchors.has(path) && !anchors.get(path)?.includes(anchor),
    )
  assert.deepEqual(lost, [])
})
