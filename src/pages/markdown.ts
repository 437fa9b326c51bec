import { Marked } from 'marked'
import { codeBlock, escapeHtml } from './layout.ts'

export type Heading = { readonly id: string; readonly text: string; readonly depth: number }

/** What GitHub leaves out of the id of a heading. */
const omitted = /[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu

/** A new id for each heading of a document, as GitHub makes it: the same link works there and in the service. */
function createIds(): (text: string) => string {
  const used = new Map<string, number>()
  return (text) => {
    const base = text.trim().toLowerCase().replace(omitted, '').replaceAll(' ', '-')
    let count = used.get(base) ?? 0
    let id = base
    while (used.has(id)) id = `${base}-${++count}`
    used.set(base, count)
    if (id !== base) used.set(id, 0)
    return id
  }
}

/** A document as HTML, and its headings. Wide tables and code scroll separately, and can be focused with the keyboard. */
export function renderMarkdown(markdown: string): { html: string; headings: Heading[] } {
  const headings: Heading[] = []
  const idFor = createIds()
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const text = this.parser.parseInline(tokens, this.parser.textRenderer)
        const id = idFor(text)
        headings.push({ id, text, depth })
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      code: ({ text }) => `${codeBlock(escapeHtml(text))}\n`,
    },
  })
  const html = marked
    .parse(markdown, { async: false })
    .replaceAll('<table>', '<div class="wide" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
  return { html, headings }
}
