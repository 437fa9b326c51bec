import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { renderMarkdown } from '../../src/pages/markdown.ts'
import { useService } from '../support/useService.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8')
const exclude = ['**/node_modules/**', '**/dist/**', 'artifacts/**']
const find = (patterns: string[]) => globSync(patterns, { cwd: root, exclude }).sort()

const headingIds = (markdown: string) => renderMarkdown(markdown).headings.map(({ id }) => id)

// Pages are rate limited by address, and the clock of a test service stands still: each page has another address.
const service = useService({ PETSTORE_TRUSTED_PROXIES: '127.0.0.1' })
let addresses = 0
const pages = new Map<string, Promise<{ status: number; text: string }>>()
function getPage(path: string): Promise<{ status: number; text: string }> {
  return pages.getOrInsertComputed(path, () => {
    const address = `198.51.${++addresses >> 8}.${addresses & 255}`
    return service.request('GET', path, { headers: { 'x-forwarded-for': address } })
  })
}

describe('the id of a heading is the one that GitHub gives it', () => {
  const scenarios: [markdown: string, ids: string[]][] = [
    ['## Audit log', ['audit-log']],
    ['# One\n\n## Two\n\n### Three', ['one', 'two', 'three']],
    ['## `petstore keys create`', ['petstore-keys-create']],
    ['## Retry, then *wait*: 2 times!', ['retry-then-wait-2-times']],
    ['## [Running](running.md) & more', ['running--more']],
    ['## If-Match and snake_case', ['if-match-and-snake_case']],
    ['## Größe 10 %', ['größe-10-']],
    ['## A\n\n## A\n\n## A', ['a', 'a-1', 'a-2']],
    ['## A\n\n## A\n\n## A 1', ['a', 'a-1', 'a-1-1']],
    ['```text\n# Not a heading\n```\n\n## Heading', ['heading']],
  ]
  for (const [markdown, ids] of scenarios)
    test(JSON.stringify(markdown), () => assert.deepEqual(headingIds(markdown), ids))
})

/** The targets within a document on GitHub. */
const idsIn = (markdown: string): Set<string> =>
  new Set([...headingIds(markdown), ...[...markdown.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)])

/** Why a link to a file leads nowhere. Undefined if it has a target. */
function problemOf(link: string, page: string): string | undefined {
  const [path = '', id] = link.split('#')
  const file = path === '' ? page : posix.join(posix.dirname(page), path)
  if (!existsSync(`${root}${file}`)) return `${link}: there is no ${file}`
  if (id === undefined || idsIn(read(file)).has(id)) return undefined
  return `${link}: ${file} has no #${id}`
}

describe('links between the documents have a target', () => {
  const documents = find(['*.md', '{docs,client,console,examples,bench,deploy}/**/*.md'])
  assert.ok(documents.includes('README.md') && documents.includes('docs/guides/keys.md'))
  for (const page of documents) {
    test(page, () => {
      const links = [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
      const local = links.filter((link) => !/^(https?:|mailto:|\/)/.test(link))
      assert.deepEqual(
        local.flatMap((link) => problemOf(link, page) ?? []),
        [],
      )
    })
  }
})

describe('what the program, its files and its messages name exists', () => {
  const files = find([
    '{src,tools,bin,client/src,console/src,examples,deploy}/**/*.{ts,tsx,js,html,yaml,sql,cfg,service,example}',
    'compose.yaml',
    'Dockerfile',
    'openapi.json',
  ])

  test('guides by their file', () => {
    const problems = files.flatMap((file) =>
      [...read(file).matchAll(/\bdocs\/guides\/[\w-]+\.md(?:#[\w-]+)?/g)].flatMap(([link]) => {
        const problem = problemOf(link, 'README.md')
        return problem === undefined ? [] : `${file}: ${problem}`
      }),
    )
    assert.deepEqual(problems, [])
  })

  test('pages by their path', async () => {
    const named = files.flatMap((file) =>
      [
        ...read(file).matchAll(/(?<=[\s"'`<(])\/(?:guides|docs)(?:\/[\w.-]*\w)?(?:#[\w-]+)?(?=[\s"'`>),.])/g),
      ].map(([link]) => ({ file, link })),
    )
    assert.ok(named.some(({ file }) => file.startsWith('console/')))
    for (const { file, link } of named) assert.equal(await pageProblem(link, link), undefined, file)
  })
})

/** Why a link of a page of the service leads nowhere. */
async function pageProblem(link: string, page: string): Promise<string | undefined> {
  const { pathname, hash } = new URL(link, `http://petstore${page}`)
  const { status, text } = await getPage(pathname)
  if (status !== 200) return `${link}: ${status}`
  return hash === '' || text.includes(` id="${hash.slice(1)}"`) ? undefined : `${link}: there is no ${hash}`
}

describe('links of the pages have a target', () => {
  const guides = find(['docs/guides/*.md']).map((path) => `/guides/${posix.basename(path, '.md')}`)
  for (const page of ['/', '/guides', ...guides]) {
    test(page, async () => {
      const { text } = await getPage(page)
      const links = [...text.matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, link = '']) => link)
      const local = new Set(links.filter((link) => !/^(https?|data):/.test(link)))
      assert.ok(local.size > 0)
      const problems = []
      for (const link of local) problems.push((await pageProblem(link, page)) ?? [])
      assert.deepEqual(problems.flat(), [])
    })
  }
})
