import { readdirSync, readFileSync } from 'node:fs'
import { marked } from 'marked'
import { type Page, refusal } from '../http/app.ts'
import { ApiError } from '../http/errors.ts'
import { escapeHtml, htmlPage } from './layout.ts'

const folder = new URL('../../docs/guides/', import.meta.url)

/** The guides of the package itself, so that a link in a header leads somewhere without internet. */
export function guidePages(): Page[] {
  const guides = new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith('.md'))
      .sort()
      .map((file) => [file.slice(0, -'.md'.length), new URL(file, folder)]),
  )
  return [
    {
      path: '/guides',
      serve() {
        const items = [...guides].map(([name, file]) => {
          const text = readFileSync(file, 'utf8')
          const topics = escapeHtml(topicsOf(text).join(' · '))
          return `<li><a href="/guides/${name}"><strong>${escapeHtml(titleOf(text))}</strong><span>${topics}</span></a></li>`
        })
        return htmlPage('Guides', '/guides', `<h1>Guides</h1><ul class="cards">${items.join('')}</ul>`)
      },
    },
    {
      path: '/guides/:name',
      serve(request) {
        const file = guides.get(new URL(request.url).pathname.slice('/guides/'.length).replace(/\.md$/, ''))
        if (!file)
          return refusal(
            new ApiError('not_found', 'There is no such guide: see /guides for those that exist.'),
          )
        const text = readFileSync(file, 'utf8')
        return htmlPage(titleOf(text), '/guides', toHtml(text))
      },
    },
  ]
}

/** What is wider than the page scrolls by itself, and can be reached with the keyboard to do so. */
const toHtml = (markdown: string): string =>
  marked
    .parse(markdown, { async: false })
    .replaceAll('<pre>', '<pre tabindex="0">')
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')

const topicsOf = (markdown: string): string[] =>
  [...markdown.matchAll(/^## (.*)$/gm)].map(([, topic = '']) => topic.replaceAll('`', ''))
const titleOf = (markdown: string): string => /^# (.*)$/m.exec(markdown)?.[1] ?? 'Guide'
