import { assetUrl, readAsset } from '../assets.ts'
import type { Environment } from '../config.ts'
import { copyScript } from './copyScript.ts'
import { copyScriptPath, escapeHtml, htmlHeaders, htmlPage, scriptHeaders } from './layout.ts'
import type { Heading } from './markdown.ts'
import type { StaticPage } from './staticPage.ts'

const folder = assetUrl('../docs/guides/')

/** In reading order: for callers, then for operators. */
const names = [
  'keys',
  'adopting',
  'profiles',
  'search',
  'adoption-page',
  'paging',
  'errors',
  'limits',
  'retries',
  'client',
  'changes',
  'deprecations',
  'console',
  'running',
  'move-in',
  'commands',
  'deploying',
  'one-machine',
  'postgresql',
  'clusters',
  'runbook',
  'personal-data',
]

/** The guides in the package: links in headers work without internet access. */
export function guidePages(environment: Environment): StaticPage[] {
  const guides = names.flatMap((name) => {
    const guide = { headers: htmlHeaders, render: () => renderGuide(environment, name) }
    // With the file extension too: the guides link to each other that way.
    return [`/guides/${name}`, `/guides/${name}.md`].map((path) => ({ path, ...guide }))
  })
  return [
    { path: '/guides', headers: htmlHeaders, render: () => renderList(environment) },
    ...guides,
    { path: copyScriptPath, headers: scriptHeaders, render: () => copyScript },
  ]
}

const read = (name: string) => readAsset(new URL(`${name}.md`, folder))

function renderList(environment: Environment): string {
  const items = names.map((name) => {
    const text = read(name)
    const topics = escapeHtml(topicsOf(text).join(' · '))
    return `<li><a href="/guides/${name}"><strong>${escapeHtml(titleOf(text))}</strong><span>${topics}</span></a></li>`
  })
  return htmlPage(environment, 'Guides', '/guides', `<h1>Guides</h1><ul class="cards">${items.join('')}</ul>`)
}

async function renderGuide(environment: Environment, name: string): Promise<string> {
  const { renderMarkdown } = await import('./markdown.ts')
  const markdown = read(name)
  const { html, headings } = renderMarkdown(markdown)
  const titleEnd = '</h1>\n'
  const start = html.indexOf(titleEnd) + titleEnd.length
  const content = [html.slice(0, start), contentsOf(headings), html.slice(start), previousAndNext(name)]
  return htmlPage(environment, titleOf(markdown), '/guides', content.join(''))
}

/** The table of contents: beside the text on a wide screen, otherwise above it and closed. CSS shows one of the two. */
function contentsOf(headings: readonly Heading[]): string {
  const items = headings
    .filter(({ depth }) => depth === 2 || depth === 3)
    .map(
      ({ id, text, depth }) =>
        `<li${depth === 3 ? ' class="sub"' : ''}><a href="#${id}">${escapeHtml(text)}</a></li>`,
    )
  if (items.length < 2) return ''
  const title = 'On this page'
  const nav = `<nav aria-label="${title}"><ul>${items.join('')}</ul></nav>`
  return `<details class="toc"><summary>${title}</summary>${nav}</details>
<div class="toc beside"><p>${title}</p>${nav}</div>
`
}

/** Links to the guides before and after this one. */
function previousAndNext(name: string): string {
  const index = names.indexOf(name)
  const link = (guide: string | undefined, rel: string, label: string) =>
    guide === undefined
      ? ''
      : `<a href="/guides/${guide}" rel="${rel}"><span>${label}</span> ${escapeHtml(titleOf(read(guide)))}</a>`
  return `<nav class="previous-next" aria-label="Other guides">${link(names[index - 1], 'prev', 'Previous')}${link(names[index + 1], 'next', 'Next')}</nav>
`
}

const topicsOf = (markdown: string): string[] =>
  [...markdown.matchAll(/^## (.*)$/gm)].map(([, topic = '']) => topic.replaceAll('`', ''))
const titleOf = (markdown: string): string => /^# (.*)$/m.exec(markdown)?.[1] ?? 'Guide'
