import { closeSync, fstatSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs'
import { ApiError } from '../../api/errors.ts'
import { JsonError } from '../../api/json.ts'
import { explainUnwritableFile } from '../../database/sqlite/unwritable.ts'
import { counted } from '../cli.ts'

/** A line that cannot be imported. */
export type Problem = { readonly line: number; readonly reason: string }

/** The most problems that are listed. A report has all of them. */
const listedMax = 20

/** Counts the wrong lines of a file, lists the first ones, and writes all of them to the report. */
export class Problems {
  count = 0
  readonly listed: Problem[] = []
  readonly #report: number | undefined

  constructor(reportFile: string | undefined, inputFile: string | undefined) {
    this.#report = reportFile === undefined ? undefined : openReport(reportFile, inputFile)
  }

  add(problem: Problem): void {
    this.count++
    if (this.listed.length < listedMax) this.listed.push(problem)
    if (this.#report !== undefined) writeSync(this.#report, `${JSON.stringify(problem)}\n`)
  }

  /** One line for each, and the number of those that are not listed. */
  toString(): string {
    const lines = this.listed.map(({ line, reason }) => `Line ${line}: ${reason}`)
    const more = this.count - this.listed.length
    if (more > 0) lines.push(`${counted(more, 'more wrong line')}. --report FILE lists all.`)
    return lines.join('\n')
  }

  close(): void {
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

/** A line is wrong. Any other error stops the import, even with --skip-bad. */
export class LineError extends Error {}

/** What is wrong with a line. Rethrows all other errors. */
export function problemOf(error: unknown): string {
  if (error instanceof LineError) return error.message
  // The parser counts lines within the text, which is always one line.
  if (error instanceof JsonError) return error.message.replace(/^line 1, /, '')
  if (error instanceof ApiError && error.details)
    return error.details.map(({ path, message }) => `${path.slice(1)} ${message}`).join('; ')
  throw error
}
