import { writeFileSync } from 'node:fs'
import { basename, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/** These files have a process each. */
const separate = [
  // They replace functions of node:fs before the service loads.
  'backupDurability',
  'cleanClose',
  'diskFailure',
  'durableFeed',
  'slowDisk',
  // They measure this process or change its settings.
  'compileCache',
  'fileModes',
  'limiterMemory',
  'pipelining',
  // They start instances or take the time when they load.
  'instances',
  'keysAcrossInstances',
  'moveToPostgres',
]
/** The expected time of a process. A file that takes longer has a process of its own. */
const batchSeconds = 20
/** Few files are better run at the same time. */
const batchesMin = 3

export type Timed = { readonly file: string; readonly seconds: number }
export type Batch = { readonly files: readonly string[]; readonly seconds: number }

/**
 * Files grouped by process. Short files share one, because loading the service takes a large part of their time.
 * Each file, the longest first, is added to the group that is the shortest so far.
 */
export function batchesOf(files: readonly Timed[]): Batch[] {
  const isSeparate = ({ file, seconds }: Timed) =>
    seconds >= batchSeconds || separate.includes(basename(file).split('.')[0] as string)
  const shared = files.filter((file) => !isSeparate(file)).sort((a, b) => b.seconds - a.seconds)
  const total = shared.reduce((sum, { seconds }) => sum + seconds, 0)
  const count = Math.max(Math.ceil(total / batchSeconds), Math.min(shared.length, batchesMin))
  const groups = Array.from({ length: count }, () => ({ files: [] as string[], seconds: 0 }))
  for (const { file, seconds } of shared) {
    const shortest = groups.reduce((least, group) => (group.seconds < least.seconds ? group : least))
    shortest.files.push(file)
    shortest.seconds += seconds
  }
  const single = files.filter(isSeparate).map(({ file, seconds }) => ({ files: [file], seconds }))
  return [...single, ...groups]
}

/**
 * Node 26 sometimes does not end by itself: it waits in its clean-up for a request that is never completed. At the first
 * `beforeExit`, the last results are not written yet.
 */
const exitAtEnd = `process.once('beforeExit', () => {
  setImmediate(() => {})
  process.once('beforeExit', () => process.exit())
})`

/**
 * Writes a program that runs each file as a suite with the file's path as its name. A file is loaded when the one before it
 * has ended: if two files load at the same time, tests of one can be added to the suite of the other.
 */
export function writeBatch(path: string, root: string, files: readonly string[]): string {
  const suites = files.map((file) => {
    const name = JSON.stringify(relative(root, file))
    return `await suite(${name}, () => import(${JSON.stringify(pathToFileURL(file).href)}))`
  })
  writeFileSync(path, [`import { suite } from 'node:test'`, exitAtEnd, ...suites, ''].join('\n'))
  return path
}
