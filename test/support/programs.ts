import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
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
/** A slow file that takes longer has a process of its own. */
const separateSeconds = 20

type Timed = { readonly file: string; readonly seconds: number }

const isSeparate = ({ file, seconds }: Timed): boolean =>
  separate.includes(basename(file).split('.')[0] as string) ||
  (file.endsWith('.slow.test.ts') && seconds >= separateSeconds)

/**
 * Writes the programs that run the files, and returns their paths. Files that need no process of their own share
 * `processes`, because loading the service takes a large part of the time of most. Each of these processes takes the
 * longest file that no other has taken, until none is left. They come last, because they end at the same time.
 */
export function writePrograms(
  folder: string,
  root: string,
  files: readonly Timed[],
  processes: number,
): string[] {
  mkdirSync(folder)
  const write = (name: string, all: readonly Timed[]): string => {
    const list = all.map(({ file }) => ({ name: relative(root, file), url: pathToFileURL(file).href }))
    const path = join(folder, `${name}.mjs`)
    writeFileSync(path, program.replace('FILES', JSON.stringify(list, null, 2)))
    return path
  }
  const sorted = files.toSorted((a, b) => b.seconds - a.seconds)
  const shared = sorted.filter((file) => !isSeparate(file))
  return [
    ...sorted.filter(isSeparate).map((file, index) => write(`single-${index}`, [file])),
    ...Array.from({ length: Math.min(processes, shared.length) }, (_, at) => write(`shared-${at}`, shared)),
  ]
}

/**
 * Each file is a suite with the file's path as its name. A file is loaded when the one before it has ended: if two files
 * load at the same time, tests of one can be added to the suite of the other.
 *
 * Node 26 sometimes does not end by itself: it waits in its clean-up for a request that is never completed. At the first
 * `beforeExit`, the last results are not written yet.
 */
const program = `import { mkdirSync } from 'node:fs'
import { suite } from 'node:test'

process.once('beforeExit', () => {
  setImmediate(() => {})
  process.once('beforeExit', () => process.exit())
})

/** Only one process can create a folder. */
function take(name) {
  try {
    mkdirSync(new URL('taken-' + encodeURIComponent(name.replaceAll('/', '-')), import.meta.url))
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  }
}

for (const { name, url } of FILES)
  if (take(name)) await suite(name, () => import(url))
`
