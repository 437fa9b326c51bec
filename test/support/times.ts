import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The seconds that each file took in a run with `--record`, by engine. They decide which files start first and which
 * share a process. They need not be exact, so they need not be recorded after every change.
 */
const root = fileURLToPath(new URL('../../', import.meta.url))
const timesFile = join(root, 'test/times.json')
type Times = Record<string, Record<string, number>>

/** Of a file that was never recorded. */
const unknownSeconds = 4

const times: Times = JSON.parse(readFileSync(timesFile, 'utf8'))

/** The path of the file is relative to the repository. */
export const timeOf = (engine: string, file: string): number => times[engine]?.[file] ?? unknownSeconds

/** Keeps the times of files that were not part of this run, unless they are gone. */
export function recordTimes(engine: string, files: readonly { file: string; seconds: number }[]): void {
  const all = { ...times[engine] }
  for (const { file, seconds } of files) all[file] = Math.round(seconds * 10) / 10
  const current = Object.entries(all).filter(([file]) => existsSync(join(root, file)))
  times[engine] = Object.fromEntries(current.sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(timesFile, `${JSON.stringify(times, null, 2)}\n`)
}
