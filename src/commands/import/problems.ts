import { closeSync, fstatSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs'
import { withoutControls } from '../../controlCharacters.ts'
import { explainUnwritableFile } from '../../database/sqlite/unwritable.ts'
import type { Problem } from '../../imports/csv/problem.ts'
import { counted } from '../cli.ts'
import { CsvReport } from './csvReport.ts'

/** The most problems that are listed. A report has all of them. */
const listedMax = 20

/** Counts the wrong lines of a file, lists the first ones, and writes all of them to the report. */
export class Problems {
  count = 0
  readonly listed: Problem[] = []
  readonly #report: number | undefined
  readonly #csvReport: CsvReport | undefined

  /** The report is NDJSON, or CSV if the file that is imported is. */
  constructor(reportFile: string | undefined, inputFile: string | undefined, isCsv = false) {
    this.#report = reportFile === undefined ? undefined : openReport(reportFile, inputFile)
    const isCsvReport = isCsv && !/\.(?:ndjson|jsonl|json)$/i.test(reportFile ?? '')
    this.#csvReport = this.#report !== undefined && isCsvReport ? new CsvReport(this.#report) : undefined
  }

  add = (problem: Problem): void => {
    this.count++
    if (this.listed.length < listedMax) this.listed.push(problem)
    if (this.#csvReport) this.#csvReport.add(problem)
    else if (this.#report !== undefined) writeSync(this.#report, `${JSON.stringify(problem)}\n`)
  }

  /** Writes a report in CSV, with the cells of the wrong lines. */
  async writeCsvReport(...file: Parameters<CsvReport['write']>): Promise<void> {
    await this.#csvReport?.write(...file)
  }

  /** One line for each, and the number of those that are not listed. */
  toString(): string {
    const sorted = this.listed.toSorted((a, b) => a.line - b.line)
    const lines = sorted.map(({ line, reason }) => withoutControls(`Line ${line}: ${reason}`))
    const more = this.count - this.listed.length
    const advice = this.#report === undefined ? ' --report FILE lists all.' : ''
    if (more > 0) lines.push(`${counted(more, 'more wrong line')}.${advice}`)
    return lines.join('\n')
  }

  close(): void {
    this.#csvReport?.close()
    if (this.#report !== undefined) closeSync(this.#report)
  }
}

function openReport(file: string, inputFile = '-'): number {
  const input = statSync(inputFile, { throwIfNoEntry: false })
  try {
    // For appending, which does not empty the file: it may be the input.
    const report = openSync(file, 'a', 0o600)
    const { ino, dev } = fstatSync(report)
    if (ino !== input?.ino || dev !== input.dev) {
      if (fstatSync(report).isFile()) ftruncateSync(report)
      return report
    }
    closeSync(report)
  } catch (error) {
    const explained = explainUnwritableFile(error, file)
    if (explained !== error) throw explained
    throw new Error(`The report cannot be written (${(error as Error).message}).`, { cause: error })
  }
  throw new Error('The report must be another file than the import.')
}
