import type { Result } from '../measure/result.ts'
import { isMoreBetter, type Row } from '../targets.ts'
import { formatTarget, formatValue } from './format.ts'

/** A bar chart in units of "must", with marks for must and aim. A longer bar is better in every row. */
const width = 960
const labelWidth = 400
const valueWidth = 180
const barMax = width - labelWidth - valueWidth
const lineHeight = 34
const barHeight = 14
const top = 56
/** Longer bars are cut off. */
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

export function renderChart(results: readonly Result[]): string {
  const shown = results.filter(({ row }) => row.must !== undefined)
  const height = top + shown.length * lineHeight + 10
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Measured values by row">
  <style>${style}
  </style>
  <text x="0" y="18">Measured, in units of must (longer is better)</text>
  ${legend()}
${shown.map((result, index) => line(result, top + index * lineHeight)).join('\n')}
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

function line({ row, measured }: Result, y: number): string {
  const label = `<text x="0" y="${y + 12}">${escapeXml(`${row.id}  ${stripCode(row.what)}`)}</text>`
  const against = row.against
    ? `<text class="small" x="0" y="${y + 26}">against ${escapeXml(stripCode(row.against))}</text>`
    : ''
  const track = `<rect class="track" x="${labelWidth}" y="${y}" width="${barMax}" height="${barHeight}" rx="2"/>`
  const marks = [mark('must', 1, y), ...(row.aim === undefined ? [] : [mark('aim', units(row, row.aim), y)])]
  const x = width - valueWidth + 10
  const bounds = `<text class="small" x="${x}" y="${y + 26}">must ${formatTarget(row, row.must)}, aim ${formatTarget(row, row.aim)}</text>`
  const value = `<text x="${x}" y="${y + 12}">${measured ? formatValue(row, measured.value) : 'not run'}</text>${bounds}`
  return `  ${label}${against}${track}${measured ? bar(row, measured.value, y) : ''}${marks.join('')}${value}`
}

function bar(row: Row, value: number, y: number): string {
  const reached = units(row, value)
  const kind = reached < 1 ? 'poor' : reached < units(row, row.aim ?? row.must ?? 1) ? 'fair' : 'good'
  return `<rect class="${kind}" x="${labelWidth}" y="${y}" width="${toPixels(reached)}" height="${barHeight}" rx="2"/>`
}

function mark(kind: string, at: number, y: number): string {
  const x = labelWidth + toPixels(at)
  return `<line class="${kind}" x1="${x}" y1="${y - 3}" x2="${x}" y2="${y + barHeight + 3}"/>`
}

const units = (row: Row, value: number) =>
  isMoreBetter(row) ? value / (row.must ?? 1) : (row.must ?? 1) / value

const toPixels = (amount: number) => Math.round((Math.min(amount, unitsMax) / unitsMax) * barMax)

const stripCode = (text: string) => text.replaceAll('`', '')

const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
