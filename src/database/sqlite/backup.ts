import { renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isFileLocked, lockFile } from './fileLock.ts'
import {
  createExclusively,
  createInSharedFolder,
  filesOf,
  isNameTaken,
  syncFile,
  syncFolder,
} from './files.ts'

export const lockWaitMs = 10_000
/** The event loop runs between the steps. */
const pagesPerStep = 1_000

export type CopyOptions = {
  /** The tables whose rows are counted, by the names of their numbers. */
  readonly tables?: Readonly<Record<string, string>>
  /** Called with the part that is copied, from 0 to 1. */
  readonly onProgress?: (pages: number, share: number) => void
  /** Stops the work, which then removes what it made. */
  readonly signal?: AbortSignal | undefined
}

export type Backup = { readonly bytes: number; readonly rows: RowCounts }

export const targetExists = (target: string): Error =>
  new Error(`${target} exists already. Choose another name, or move the file away.`)

/** Writes a consistent copy of the database. The target appears only when it is complete, checked and durable. */
export async function backupDatabase(source: string, target: string, options: CopyOptions = {}) {
  const unfinished = `${target}.unfinished`
  const lock = `${unfinished}.lock`
  const releaseLock = acquireLock(lock, `Another backup to ${target} is running.`)
  try {
    // With the lock, no other backup can create it.
    if (isNameTaken(target)) throw targetExists(target)
    // Left by a backup that was killed.
    removeFiles(unfinished)
    const rows = await copyDatabaseFile(source, unfinished, options)
    const problem = integrityProblem(unfinished)
    if (problem !== undefined) {
      throw new Error(
        `No backup was written: the copy of ${source} fails SQLite's integrity check (${problem}). The database may be damaged: keep your last backup, and check the disk.`,
      )
    }
    await throwIfAborted(options.signal)
    syncFile(unfinished)
    renameSync(unfinished, target)
    try {
      syncFolder(dirname(target))
    } catch (error) {
      rmSync(target, { force: true })
      throw error
    }
    return { bytes: statSync(target).size, rows }
  } finally {
    removeFiles(unfinished)
    releaseLock()
    rmSync(lock, { force: true })
  }
}

/** A file that cannot be locked, because the disk is full, is removed again. */
function acquireLock(lock: string, message: string): () => void {
  const isCreated = createInSharedFolder(lock)
  try {
    return lockFile(lock, message)
  } catch (error) {
    if (isCreated && !isFileLocked(lock)) rmSync(lock, { force: true })
    throw error
  }
}

/** Removes a database. A journal that is left would be applied to the next one with the same name. */
function removeFiles(database: string): void {
  for (const file of filesOf(database)) rmSync(file, { force: true })
}

/** Returns the number of rows, which is the same in the source and in the copy. */
export async function copyDatabaseFile(source: string, target: string, options: CopyOptions) {
  createExclusively(target)
  using connection = new DatabaseSync(source, { readOnly: true, timeout: lockWaitMs })
  // An open read transaction keeps the snapshot. Otherwise each write of a server would restart the copy.
  connection.exec('BEGIN; SELECT 1 FROM sqlite_schema')
  await copyPages(connection, target, options)
  // In WAL mode even a reader creates files beside the copy, and fails if it lacks the permission.
  using copy = new DatabaseSync(target)
  copy.exec('PRAGMA journal_mode = DELETE')
  const [expected, copied] = [countRows(connection, options.tables), countRows(copy, options.tables)]
  if (JSON.stringify(copied) !== JSON.stringify(expected))
    throw new Error(`The copy of ${source} does not have the same rows: check the disk.`)
  return copied
}

/** Overwrites the target in one transaction. */
export const copyPages = (source: DatabaseSync, target: string, { onProgress, signal }: CopyOptions) =>
  backup(source, target, {
    rate: pagesPerStep,
    progress({ totalPages, remainingPages }) {
      // What is thrown here ends the copy.
      signal?.throwIfAborted()
      onProgress?.(totalPages - remainingPages, 1 - remainingPages / totalPages)
    },
  })

/** Throws if the signal is aborted, also by a signal of the operating system that has arrived while SQLite was busy. */
export async function throwIfAborted(signal: AbortSignal | undefined): Promise<void> {
  // The event loop asks for signals before the second turn at the latest.
  await nextTurn()
  await nextTurn()
  signal?.throwIfAborted()
}

type RowCounts = Readonly<Record<string, number>>

/** A database of another version may lack a table. */
function countRows(connection: DatabaseSync, tables: CopyOptions['tables'] = {}): RowCounts {
  const hasTable = connection.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?")
  const count = (table: string) =>
    hasTable.get(table) ? Number(connection.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n) : 0
  return Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, count(table)]))
}

/**
 * The first problem that SQLite finds. quick_check takes 0.5 seconds for a million rows instead of 3.5, but does not
 * compare indexes with their tables. A restore runs the same check, so a backup that passes here passes there.
 */
export function integrityProblem(file: string): string | undefined {
  try {
    using connection = new DatabaseSync(file, { readOnly: true })
    const result = String(connection.prepare('PRAGMA integrity_check(1)').get()?.integrity_check)
    return result === 'ok' ? undefined : result.replaceAll(/\s+/g, ' ')
  } catch (error) {
    return (error as Error).message
  }
}
