import { escapeHtml } from '../pages/layout.ts'

/** HTML or XML that is complete. Only `html` makes it, so text of people cannot become markup. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Content = Html | string | number | false | null | undefined | readonly Content[]

/** Characters that XML does not allow, not even escaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g

/** A template of HTML or XML. Its values are shown as text, also in attributes with double quotes, unless they are `Html`. */
export function html(parts: TemplateStringsArray, ...values: Content[]): Html {
  let text = parts[0] as string
  for (const [index, value] of values.entries()) text += render(value) + parts[index + 1]
  return new Html(text)
}

function render(value: Content): string {
  if (value instanceof Html) return value.text
  if (typeof value === 'string') return escapeHtml(value.replace(forbidden, ''))
  if (typeof value === 'number') return String(value)
  return value ? value.map(render).join('') : ''
}
