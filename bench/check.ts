import { type Figure, isMoreBetter, type Row, reaches } from './figures.ts'

export const isChecked = (row: Row): row is Row & { must: number } =>
  row.notChecked === undefined && row.must !== undefined

/**
 * For CI: notices an accident, such as a page that is no longer kept, and is not upset by noise. What must be reached is
 * halved, and a row fails only if everything speaks against it, twice, as what fails is measured once more:
 *
 * - the median of its rounds, in which both sides met the same machine one right after the other;
 * - the same ratio by processor time: other programs on the machine make a server wait, but hardly have it use more;
 * - its best round, where there is no ratio by processor time.
 *
 * Percentiles of times and absolute figures are not checked: they say as much about the machine as about the service.
 * README.md has the spread of repeated runs on a busy machine.
 */
export function checkFigures(figures: readonly Figure[]): { failed: readonly Row[]; text: string } {
  const lines: string[] = []
  const failed: Row[] = []
  for (const figure of figures) {
    const { row, found, byCpu, problem } = figure
    if (!isChecked(row)) continue
    const bound = isMoreBetter(row) ? row.must / 2 : row.must * 2
    if (!found) {
      failed.push(row)
      lines.push(`FAILED ${row.id} ${row.what}: could not be run. ${problem ?? ''}`)
      continue
    }
    const second = byCpu ?? (isMoreBetter(row) ? found.max : found.min)
    const isReached = reaches(row, found.value, bound) || reaches(row, second, bound)
    if (!isReached) failed.push(row)
    const shown = `${found.value.toFixed(2)}, ${byCpu === undefined ? 'best round' : 'by processor time'} ${second.toFixed(2)}`
    lines.push(
      `${isReached ? 'ok    ' : 'FAILED'} ${row.id} ${row.what}: ${shown}; bound ${bound.toFixed(2)}`,
    )
  }
  return { failed, text: lines.join('\n') }
}
