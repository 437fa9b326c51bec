import type { Result } from '../measure/result.ts'
import { reaches } from '../targets.ts'
import { formatTarget, formatValue } from './format.ts'

const problemCharsMax = 500

export function formatTable(results: readonly Result[], isQuick: boolean): string {
  const lines = results.map((result) => {
    const { row, measured, byCpuTime } = result
    const cells = [
      row.id,
      row.what,
      row.against,
      formatTarget(row, row.must),
      formatTarget(row, row.aim),
      measured ? `**${formatValue(row, measured.value)}**` : 'not run',
      measured ? `${formatValue(row, measured.min)} to ${formatValue(row, measured.max)}` : '',
      byCpuTime === undefined ? '' : formatValue(row, byCpuTime),
      [verdict(result, isQuick), ...marks(result)].filter((text) => text !== '').join(', '),
    ]
    return `| ${cells.join(' | ')} |`
  })
  return [
    '| | what | against | must | aim | measured | range | by CPU time | |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n')
}

function verdict({ row, measured }: Result, isQuick: boolean): string {
  if (!measured || row.must === undefined) return ''
  if (isQuick && row.needsFullRun) return 'needs a full run'
  if (row.aim !== undefined && reaches(row, measured.value, row.aim)) return 'aim'
  return reaches(row, measured.value, row.must) ? 'must' : '**missed**'
}

const marks = ({ isLoadBound, isDisturbed, problem }: Result): string[] => [
  ...(isLoadBound ? ['**load-bound**'] : []),
  ...(isDisturbed ? ['disturbed'] : []),
  ...(problem === undefined ? [] : ['see below']),
]

export function formatDetails(results: readonly Result[]): string {
  return results
    .map(({ row, detail, problem }) =>
      problem === undefined
        ? `- ${row.id}: ${detail}`
        : `- ${row.id}: **not run.** ${problem.replace(/\s+/g, ' ').slice(0, problemCharsMax)}`,
    )
    .join('\n')
}
