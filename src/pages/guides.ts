import { assetUrl, readAsset } from '../assets.ts'
import type { Environment } from '../config.ts'
import { escapeHtml, htmlHeaders, htmlPage } from './layout.ts'
import type { StaticPage } from './staticPage.ts'

const folder = assetUrl('../docs/guides/')

/** In reading order: for callers, then for operators. */
const names = [
  'keys',
  'adopting',
  'paging',
  'errors',
  'limits',
  'retries',
  'client',
  'changes',
  'deprecations',
  'console',
  'running',
  'commands',
  'deploying',
  'personal-data',
]

/** The guides in the package: links in headers work without internet access. */
export function guidePages(environment: Environment): StaticPage[] {
  // With the file extension too: the guides link to each other that way.
  const guides = names.flatMap((name) =>
    [`/guides/${name}`, `/guides/${name}.md`].map((path) => ({ path, name })),
  )
  return [
    { path: '/guides', headers: htmlHeaders, render: () => renderList(environment) },
    ...guides.map(({ path, name }) => ({
      path,
      headers: htmlHeaders,
      render: () => renderGuide(environment, name),
    })),
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
  const { marked } = await import('marked')
  const markdown = read(name)
  // Wide tables and code scroll separately, and can be focused with the keyboard.
  const html = marked
    .parse(markdown, { async: false })
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
  return htmlPage(environment, titleOf(markdown), '/guides', html)
}

const topicsOf = (markdown: string): string[] =>
  [...markdown.matchAll(/^## (.*)$/gm)].map(([, topic = '']) => topic.replaceAll('`', ''))
const titleOf = (markdown: string): string => /^# (.*)$/m.exec(markdown)?.[1] ?? 'Guide'
