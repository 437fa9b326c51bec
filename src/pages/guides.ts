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
        const items = [...guides].map(
          ([name, file]) =>
            `<li><a href="/guides/${name}"><strong>${escapeHtml(titleOf(readFileSync(file, 'utf8')))}</strong></a></li>`,
        )
        return htmlPage(
          'Guides',
          `<main><nav><a href="/">Petstore</a></nav><h1>Guides</h1><ul class="cards">${items.join('')}</ul></main>`,
        )
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
        const html = marked.parse(text, { async: false })
        return htmlPage(
          titleOf(text),
          `<main><nav><a href="/">Petstore</a> / <a href="/guides">Guides</a></nav>${html}</main>`,
        )
      },
    },
  ]
}

const titleOf = (markdown: string): string => /^# (.*)$/m.exec(markdown)?.[1] ?? 'Guide'
