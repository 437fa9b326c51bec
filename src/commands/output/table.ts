const gap = 2
/** A column is not made narrower than this. */
const columnMin = 6

/** Characters that terminals show in two columns. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const combining = /^[\p{M}\u200b-\u200f]$/u

const widthOf = (text: string): number => {
  let width = 0
  for (const character of text) width += combining.test(character) ? 0 : wide.test(character) ? 2 : 1
  return width
}

/** Text in rows and columns. Without `width`, no cell is shortened. */
export function formatTable(rows: readonly (readonly string[])[], width?: number): string {
  // A name must not contain control sequences of the terminal.
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll(/\p{Cc}/gu, '\ufffd')))
  const widths = (cells[0] ?? []).map((_, at) => Math.max(...cells.map((row) => widthOf(row[at] ?? ''))))
  if (width !== undefined) shrinkColumns(widths, width)
  return cells
    .map((row) =>
      row
        .map((cell, at) => padOrShorten(cell, widths[at] ?? 0))
        .join(' '.repeat(gap))
        .trimEnd(),
    )
    .join('\n')
}

/** Makes the widest columns narrower until the row fits. */
function shrinkColumns(widths: number[], width: number): void {
  let excess = widths.reduce((sum, each) => sum + each + gap, -gap) - width
  while (excess > 0) {
    const widest = Math.max(...widths)
    if (widest <= columnMin) return
    widths[widths.lastIndexOf(widest)] = widest - 1
    excess--
  }
}

function padOrShorten(cell: string, width: number): string {
  const cellWidth = widthOf(cell)
  if (cellWidth <= width) return cell + ' '.repeat(width - cellWidth)
  let shown = ''
  let used = 0
  for (const character of cell) {
    const next = widthOf(character)
    if (used + next > width - 1) break
    shown += character
    used += next
  }
  return `${shown}…${' '.repeat(width - 1 - used)}`
}
