import { type Figure, isMoreBetter, type Row } from './figures.ts'
import { showBound, showValue } from './report.ts'

/**
 * Bars of what was reached, with a mark for what must be and one for the aim. All are drawn in units of "must", and so
 * that longer is better, whatever the unit of the row.
 */
const width = 960
const labelWidth = 400
const valueWidth = 180
const barMax = width - labelWidth - valueWidth
const lineHeight = 34
const barHeight = 14
const top = 56
/** What is more than this many times as good as it must be ends at the edge. */
const unitsMax = 4

const style = `
    text { font: 13px system-ui, sans-serif; fill: #24292f }
    .small { font-size: 11px; fill: #57606a }
    .track { fill: #d0d7de; fill-opacity: .45 }
    .good { fill: #1a7f37 }
    .fair { fill: #3b82c4 }
    .poor { fill: #cf222e }
    .must { stroke: #24292f; stroke-width: 2 }
    .aim { stroke: #24292f; stroke-width: 2; stroke-dasharray: 3 2 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .small { fill: #9198a1 }
      .track { fill: #656c76 }
      .good { fill: #3fb950 }
      .fair { fill: #58a6ff }
      .poor { fill: #f85149 }
      .must, .aim { stroke: #e6edf3 }
    }`

export function chart(figures: readonly Figure[]): string {
  const shown = figures.filter(({ row }) => row.must !== undefined)
  const height = top + shown.length * lineHeight + 10
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="What was reached, row by row">
  <style>${style}
  </style>
  <text x="0" y="18">Reached, in units of what must be reached: longer is better</text>
  ${legend()}
${shown.map((figure, index) => line(figure, top + index * lineHeight)).join('\n')}
</svg>
`
}

function legend(): string {
  const y = 38
  const mark = (x: number, kind: string, text: string) =>
    `<line class="${kind}" x1="${x}" y1="${y - 12}" x2="${x}" y2="${y + 2}"/><text class="small" x="${x + 6}" y="${y}">${text}</text>`
  const box = (x: number, kind: string, text: string) =>
    `<rect class="${kind}" x="${x}" y="${y - 9}" width="10" height="10" rx="2"/><text class="small" x="${x + 15}" y="${y}">${text}</text>`
  return [
    mark(1, 'must', 'must'),
    mark(56, 'aim', 'aim'),
    box(110, 'poor', 'below must'),
    box(200, 'fair', 'must reached'),
    box(300, 'good', 'aim reached'),
  ].join('')
}

function line({ row, found }: Figure, y: number): string {
  const label = `<text x="0" y="${y + 12}">${escaped(`${row.id}  ${plainText(row.what)}`)}</text>`
  const against = row.against
    ? `<text class="small" x="0" y="${y + 26}">against ${escaped(plainText(row.against))}</text>`
    : ''
  const track = `<rect class="track" x="${labelWidth}" y="${y}" width="${barMax}" height="${barHeight}" rx="2"/>`
  const marks = [mark('must', 1, y), ...(row.aim === undefined ? [] : [mark('aim', units(row, row.aim), y)])]
  const x = width - valueWidth + 10
  const bounds = `<text class="small" x="${x}" y="${y + 26}">must ${showBound(row, row.must)}, aim ${showBound(row, row.aim)}</text>`
  const value = `<text x="${x}" y="${y + 12}">${found ? showValue(row, found.value) : 'not run'}</text>${bounds}`
  return `  ${label}${against}${track}${found ? bar(row, found.value, y) : ''}${marks.join('')}${value}`
}

function bar(row: Row, value: number, y: number): string {
  const reached = units(row, value)
  const kind = reached < 1 ? 'poor' : reached < units(row, row.aim ?? row.must ?? 1) ? 'fair' : 'good'
  return `<rect class="${kind}" x="${labelWidth}" y="${y}" width="${place(reached)}" height="${barHeight}" rx="2"/>`
}

function mark(kind: string, at: number, y: number): string {
  const x = labelWidth + place(at)
  return `<line class="${kind}" x1="${x}" y1="${y - 3}" x2="${x}" y2="${y + barHeight + 3}"/>`
}

/** How many times as good as it must be. */
const units = (row: Row, value: number) =>
  isMoreBetter(row) ? value / (row.must ?? 1) : (row.must ?? 1) / value

const place = (amount: number) => Math.round((Math.min(amount, unitsMax) / unitsMax) * barMax)

const plainText = (text: string) => text.replaceAll('`', '')

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
