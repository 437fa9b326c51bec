import { writeFileSync } from 'node:fs'
import { basename, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Test files share a process, because loading the service takes a large part of the time of a short file.
 * These files have a process each.
 */
const separate = [
  // They replace functions of node:fs before the service loads.
  'backupDurability',
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
  // They take longest.
  'auth',
  'backup',
  'cleanStop',
  'commandLine',
  'concurrentWriters',
  'consoleAnimals',
  'consoleKeys',
  'consoleManyAnimals',
  'consoleOrders',
  'consoleScreens',
  'consoleSignIn',
  'consoleWebhooks',
  'counting',
  'crash',
  'docs',
  'docsPage',
  'faults',
  'importFiles',
  'killedInstances',
  'lockPairs',
  'migrations',
  'orders',
  'ordersModel',
  'petsModel',
  'webhookDelivery',
]
const batchSizeMax = 6
/** Few files are better run at the same time. */
const batchesMin = 4

/** Files grouped by process, the longest first: at the end they would run alone. */
export function batchesOf(files: readonly string[]): string[][] {
  const isSeparate = (file: string) => separate.includes(basename(file, '.test.ts'))
  const shared = files.filter((file) => !isSeparate(file))
  const count = Math.max(Math.ceil(shared.length / batchSizeMax), Math.min(shared.length, batchesMin))
  const groups = Array.from({ length: count }, (_, group) =>
    shared.filter((_, index) => index % count === group),
  )
  return [...files.filter(isSeparate).map((file) => [file]), ...groups]
}

/** The first of each list, the second of each, and so on. What a longer list has more comes last. */
export function interleaved<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, index) =>
    lists.flatMap((list) => list.slice(index, index + 1)),
  ).flat()
}

/** Node 26 sometimes does not end by itself: it waits in its clean-up for a request that is never completed. */
const exitAtEnd = `process.once('beforeExit', () => process.exit())`

/** Writes a program that runs each file as a suite with the file's path as its name. */
export function writeBatch(path: string, root: string, files: readonly string[]): string {
  const suites = files.map((file) => {
    const name = JSON.stringify(relative(root, file))
    return `suite(${name}, () => import(${JSON.stringify(pathToFileURL(file).href)}))`
  })
  writeFileSync(path, [`import { suite } from 'node:test'`, exitAtEnd, ...suites, ''].join('\n'))
  return path
}
