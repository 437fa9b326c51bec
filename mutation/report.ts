import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeCommit, describeMachine } from '../reliability/report.ts'
import type { Reason } from './reasons.ts'

/** A mutant that no test has noticed. */
export type Survivor = {
  readonly file: string
  readonly line: number
  readonly column: number
  /** The line of the source. */
  readonly code: string
  readonly mutator: string
  readonly original: string
  readonly replacement: string
  readonly isCovered: boolean
}

export type Result = {
  readonly subject: string
  readonly file: string
  readonly total: number
  readonly survivors: readonly Survivor[]
  readonly seconds: number
}

/** The share of mutants that must be noticed, of all and of each subject. */
const noticedMin = 0.9

const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** How many mutants there are and how many were noticed, by file, by subject and together. */
export function summarize(results: readonly Result[]) {
  const count = (name: string, some: readonly Result[]) => {
    const total = sum(some.map((each) => each.total))
    const noticed = total - sum(some.map(({ survivors }) => survivors.length))
    return { name, total, noticed, isEnough: total > 0 && noticed / total >= noticedMin }
  }
  const subjects = Map.groupBy(results, ({ subject }) => subject)
  const together = count('together', results)
  const bySubject = [...subjects].map(([subject, some]) => count(subject, some))
  return { together, bySubject, isEnough: [together, ...bySubject].every(({ isEnough }) => isEnough) }
}

type Count = ReturnType<typeof summarize>['together']
const percent = ({ noticed, total }: Count): string => `${((100 * noticed) / total).toFixed(1)} %`

export function formatFigures(results: readonly Result[]): string {
  const { together, bySubject } = summarize(results)
  const files = results.map(({ subject, file, total, survivors, seconds }) => [
    ...[subject, `\`${file}\``, total, total - survivors.length, survivors.length, seconds.toFixed(0)],
  ])
  const counts = [...bySubject, together].map((count) => [
    ...[count.name, count.total, count.noticed, percent(count), count.isEnough ? '' : '**too few**'],
  ])
  return `${table(['Subject', 'File', 'Mutants', 'Noticed', 'Not noticed', 'Seconds'], files)}

${table(['Subject', 'Mutants', 'Noticed', 'Share', ''], counts)}`
}

/** The sentence at the end of a run. */
export function formatVerdict(results: readonly Result[]): string {
  const { together, bySubject, isEnough } = summarize(results)
  const low = bySubject.filter((subject) => !subject.isEnough).map(({ name }) => name)
  const figures = `${together.noticed} of ${together.total} mutants noticed (${percent(together)})`
  if (isEnough) return `${figures}.`
  return `${figures}: less than ${noticedMin * 100} %${low.length > 0 ? ` of ${low.join(', ')}` : ''}.`
}

export const formatSurvivor = ({ file, line, column, mutator, original, replacement, isCovered }: Survivor) =>
  `${file}:${line}:${column} ${mutator}: ${original} -> ${replacement}${isCovered ? '' : ' (no test runs it)'}`

const isReasonOf = (survivor: Survivor, { file, code, replacements }: Reason): boolean =>
  survivor.file === file &&
  survivor.code.includes(code) &&
  (replacements === undefined || replacements.includes(survivor.replacement))

/** The survivors with the reason why a test need not notice them, by file. */
export function formatSurvivors(results: readonly Result[], reasons: readonly Reason[]): string {
  const code = (text: string) => `\`\` ${text.replaceAll('|', '\\|')} \`\``
  const rows = results.flatMap(({ survivors }) =>
    survivors.map((survivor) => {
      const reason = reasons.find((each) => isReasonOf(survivor, each))?.reason ?? '**no reason is known**'
      const place = `\`${survivor.file.split('/').slice(-2).join('/')}\` ${survivor.line}`
      return [place, code(survivor.original), code(survivor.replacement), reason]
    }),
  )
  return rows.length === 0 ? 'None.' : table(['File and line', 'Code', 'Changed to', 'Reason'], rows)
}

const resultsHeading = '## Results'
const secondsNote =
  '"Seconds" is the time from the start to the end of a file. Several files run in parallel, so the sum is larger than the whole time.'

/** Replaces the results in the page about mutation testing, which is in this folder. */
export function writeResults(
  folder: string,
  results: readonly Result[],
  reasons: readonly Reason[],
  seconds: number,
): void {
  const page = join(folder, 'mutation-testing.md')
  const [introduction = ''] = readFileSync(page, 'utf8').split(resultsHeading)
  const date = new Date().toISOString().slice(0, 10)
  writeFileSync(
    page,
    `${introduction}${resultsHeading}

${date}, ${Math.round(seconds / 60)} minutes, commit ${describeCommit()}. ${describeMachine()}. ${secondsNote}

${formatFigures(results)}

### Not noticed

${formatSurvivors(results, reasons)}
`,
  )
}
