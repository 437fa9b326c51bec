import type { Result } from './measure/result.ts'
import { isMoreBetter, type Row, reaches } from './targets.ts'

export const isChecked = (row: Row): row is Row & { must: number } =>
  !row.isUnchecked && row.must !== undefined

/**
 * Detects regressions in CI without failing on noise. The bound is half of "must" (twice, if less is better). A row
 * fails only if both its median and its ratio by CPU time are beyond the bound. If there is no ratio by CPU time, the
 * best round is used. README.md has the spread of repeated runs on a busy machine.
 */
export function checkResults(results: readonly Result[]): { failed: readonly Row[]; text: string } {
  const lines: string[] = []
  const failed: Row[] = []
  for (const { row, measured, byCpuTime, problem } of results) {
    if (!isChecked(row)) continue
    if (!measured) {
      failed.push(row)
      lines.push(`FAILED ${row.id} ${row.what}: not run. ${problem ?? ''}`)
      continue
    }
    const bound = isMoreBetter(row) ? row.must / 2 : row.must * 2
    const second = byCpuTime ?? (isMoreBetter(row) ? measured.max : measured.min)
    const isOk = reaches(row, measured.value, bound) || reaches(row, second, bound)
    if (!isOk) failed.push(row)
    const label = byCpuTime === undefined ? 'best round' : 'by CPU time'
    const values = `${measured.value.toFixed(2)}, ${label} ${second.toFixed(2)}; bound ${bound.toFixed(2)}`
    lines.push(`${isOk ? 'ok    ' : 'FAILED'} ${row.id} ${row.what}: ${values}`)
  }
  return { failed, text: lines.join('\n') }
}
