import { withoutControls } from '../../controlCharacters.ts'

const gap = '  '

/** Characters that terminals show in two columns. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const combining = /^[\p{M}\u200b-\u200f]$/u

const widthOf = (text: string): number => {
  let width = 0
  for (const character of text) width += combining.test(character) ? 0 : wide.test(character) ? 2 : 1
  return width
}

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))

/**
 * A table with headings. If it does not fit into `width`, each row becomes a block with one line for each column, because
 * shortened cells would hide what they say.
 */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
): string {
  const cells = rows.map((row) => row.map(withoutControls))
  const lines = [headings, ...cells]
  const widths = headings.map((_, at) => Math.max(...lines.map((row) => widthOf(row[at] ?? ''))))
  const table = lines.map((row) => row.map((cell, at) => pad(cell, widths[at] ?? 0)).join(gap))
  if (widthOf(table[0] ?? '') <= width) return table.map((line) => line.trimEnd()).join('\n')
  return cells.map((row) => formatBlock(headings, row, widths[0] ?? 0, width)).join('\n\n')
}

/** The first cell, and beside it the others with their headings. */
function formatBlock(
  [, ...headings]: readonly string[],
  [first = '', ...others]: readonly string[],
  firstWidth: number,
  width: number,
): string {
  const headingWidth = Math.max(...headings.map(widthOf))
  const cellWidth = width - firstWidth - headingWidth - 2 * gap.length
  return others
    .flatMap((cell, at) => wrap(cell, cellWidth).map((text, line) => [line === 0 ? headings[at] : '', text]))
    .map(([heading = '', text], line) =>
      [pad(line === 0 ? first : '', firstWidth), pad(heading, headingWidth), text].join(gap),
    )
    .join('\n')
}

/** Breaks a text after spaces and commas. A longer part stays whole, so that it can be copied. */
function wrap(text: string, width: number): string[] {
  const lines = ['']
  for (const part of text.split(/(?<=[ ,])/)) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && widthOf((line + part).trimEnd()) > width) lines.push(part)
    else lines[lines.length - 1] = line + part
  }
  return lines.map((line) => line.trimEnd())
}
