import { join, relative } from 'node:path'
import type { run } from 'node:test'
import { inspect, styleText } from 'node:util'
import { findBrowser, noBrowserReason } from './findBrowser.ts'

type Tests = ReturnType<typeof run>

export type Results = {
  passed: number
  failed: number
  skipped: number
  /** Skipped because this machine has no browser. */
  withoutBrowser: number
  /** The names of those in test/store. */
  passedInStore: string[]
  files: { file: string; seconds: number }[]
}

type Progress = { done: number; readonly total: number }

/** A group fails with each of its tests, which are counted. It also fails without them, in its hooks. */
const isOwnFailure = (error: unknown) => (error as { failureType?: string }).failureType !== 'subtestsFailed'

const hasBrowser = findBrowser() !== undefined

export const noResults = (): Results => ({
  passed: 0,
  failed: 0,
  skipped: 0,
  withoutBrowser: 0,
  passedInStore: [],
  files: [],
})

/**
 * Adds the results of a program to those of its engine. Prints a line for each file when it ends and each failure
 * when it happens. The program runs each of its files as a suite of the top level.
 */
export async function collectResults(
  tests: Tests,
  root: string,
  program: string,
  label: string,
  progress: Progress,
  results: Results,
): Promise<void> {
  const databaseFolder = join(root, 'test', 'store')
  let received = 0
  /** How many tests the program has run, by its own count. */
  let counted: number | undefined

  function fail(name: string, place: string, error: unknown): void {
    results.failed++
    const { cause } = error as { cause?: unknown }
    console.log(`${styleText('red', '✖')} ${name} (${label}, ${place})\n${indent(describe(cause ?? error))}`)
  }

  tests.on('test:complete', ({ name, nesting, file, line, details, skip, todo }) => {
    if (name === program) return
    const place = `${relative(root, file ?? '')}:${line}`
    if (!details.passed && isOwnFailure(details.error)) fail(name, place, details.error)
    if (details.type === 'suite') {
      if (nesting === 0) endFile(name, details.duration_ms / 1000, details.passed)
      return
    }
    received++
    if (!details.passed) return
    if (skip === noBrowserReason && !hasBrowser) results.withoutBrowser++
    else if (skip !== undefined || todo !== undefined) {
      results.skipped++
      console.log(`${styleText('red', '✖')} skipped: ${name} (${label}, ${place})`)
    } else {
      results.passed++
      if (file?.startsWith(databaseFolder)) results.passedInStore.push(`${relative(root, file)} ${name}`)
    }
  })
  // A program that fails apart from its tests, for example because it does not end.
  tests.on('test:fail', ({ name, file, details }) => {
    if (name === program && isOwnFailure(details.error)) fail(label, file ?? name, details.error)
  })

  tests.on('test:summary', ({ file, counts }) => {
    if (file !== undefined) counted = counts.tests
  })

  function endFile(file: string, seconds: number, isGood: boolean): void {
    results.files.push({ file, seconds })
    const count = `${String(++progress.done).padStart(String(progress.total).length)}/${progress.total}`
    const mark = isGood ? styleText('green', '✔') : styleText('red', '✖')
    console.log(`${count} ${mark} ${label.padEnd(10)} ${file} (${seconds.toFixed(1)} s)`)
  }

  for await (const { type, data } of tests) if (type === 'test:stderr') process.stderr.write(data.message)
  // A process without a summary and without results came too late to take a file.
  if ((counted ?? 0) !== received)
    fail(
      label,
      program,
      new Error(`${counted ?? 'Unknown'} tests ran, but ${received} results were received.`),
    )
}

/** A failure shows so much of its message. A whole document would hide what is wrong. */
const messageLinesMax = 40

function describe(error: unknown): string {
  const { code, stack } = error as { code?: string; stack?: string }
  // The message of a failed assertion shows the difference, so its values need not be shown again.
  const lines = (code === 'ERR_ASSERTION' && stack ? stack : inspect(error)).split('\n')
  const end = lines.findIndex((line) => /^ +at /.test(line))
  const message = end === -1 ? lines : lines.slice(0, end)
  const left = message.length - messageLinesMax
  const more = left > 0 ? [`... and ${left} more lines`] : []
  return [...message.slice(0, messageLinesMax), ...more, ...lines.slice(message.length)].join('\n')
}

const indent = (text: string) => text.replaceAll(/^/gm, '    ')
