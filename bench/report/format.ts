import type { Row } from '../targets.ts'

export function formatValue(row: Row, value: number): string {
  if (row.kind === 'MB' || row.kind === 'ms' || row.kind === 'perSecond')
    return withUnit(row, Math.round(value))
  return withUnit(row, value.toFixed(value >= 10 ? 1 : 2))
}

export const formatTarget = (row: Row, value: number | undefined) =>
  value === undefined ? '' : withUnit(row, Number(value.toFixed(4)))

function withUnit({ kind }: Row, value: number | string): string {
  if (kind === 'MB' || kind === 'ms') return `${value} ${kind}`
  if (kind === 'perSecond') return `${value.toLocaleString('en')}/s`
  return kind === 'factor' ? `${value}x` : String(value)
}
