import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import type { Database } from '../database.ts'
import { renewIdentity } from '../metadata.ts'
import { openMigrated } from '../open.ts'
import { withRetry } from '../retry.ts'
import { changeLogTable, type Db } from '../tables.ts'
import { isLocked, sqliteKysely } from './driver.ts'
import { acquireServerLock, isFileLocked, lockFile } from './fileLock.ts'
import { repairModes, restrictFileModes, syncFile, syncFolder } from './files.ts'
import { databaseFile } from './open.ts'

const lockWaitMs = 10_000
const lockRetryMs = 20
const stagingPrefix = 'restore-'
/** The default of SQLite, which every database of the service uses. */
const pageBytes = 4096
/** The event loop runs between the steps. */
const pagesPerStep = 1_000

/** Called with the part that is copied, from 0 to 1. */
type OnProgress = (pages: number, share: number) => void

export type Backup = { readonly bytes: number; readonly rows: RowCounts }

/** Writes a consistent copy of the database. The target appears only when it is complete, checked and durable. */
export async function backupDatabase(
  source: string,
  target: string,
  onProgress: OnProgress = () => {},
): Promise<Backup> {
  const unfinished = `${target}.unfinished`
  const lock = `${unfinished}.lock`
  const releaseLock = lockFile(lock, `Another backup to ${target} is running.`)
  try {
    rmSync(unfinished, { force: true })
    const rows = await copyPages(source, unfinished, onProgress)
    const problem = integrityProblem(unfinished)
    if (problem !== undefined) {
      throw new Error(
        `No backup was written: the copy of ${source} fails SQLite's integrity check (${problem}). The database may be damaged: keep your last backup, and check the disk.`,
      )
    }
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
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${unfinished}${suffix}`, { force: true })
    releaseLock()
    rmSync(lock, { force: true })
  }
}

/** Returns the number of rows, which is the same in the source and in the copy. */
async function copyPages(
  source: string,
  target: string,
  onProgress: OnProgress = () => {},
): Promise<RowCounts> {
  restrictFileModes(target)
  using connection = new DatabaseSync(source, { readOnly: true, timeout: lockWaitMs })
  // An open read transaction keeps the snapshot. Otherwise each write of a server would restart the copy.
  connection.exec('BEGIN; SELECT 1 FROM sqlite_schema')
  await backup(connection, target, {
    rate: pagesPerStep,
    progress: ({ totalPages, remainingPages }) =>
      onProgress(totalPages - remainingPages, 1 - remainingPages / totalPages),
  })
  // In WAL mode even a reader creates files beside the copy, and fails if it lacks the permission.
  using copy = new DatabaseSync(target)
  copy.exec('PRAGMA journal_mode = DELETE')
  const [expected, copied] = [countRows(connection), countRows(copy)]
  if (JSON.stringify(copied) !== JSON.stringify(expected))
    throw new Error(`The copy of ${source} does not have the same rows: check the disk.`)
  return copied
}

const countedTables = { pets: 'pets', categories: 'categories', orders: 'orders', keys: 'api_keys' } as const
export type RowCounts = Readonly<Record<keyof typeof countedTables, number>>

function countRows(connection: DatabaseSync): RowCounts {
  const counts = Object.entries(countedTables).map(([name, table]) => [
    name,
    Number(connection.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count),
  ])
  return Object.fromEntries(counts)
}

/**
 * The first problem that SQLite finds. quick_check takes 0.5 seconds for a million rows instead of 3.5, but does not
 * compare indexes with their tables. A restore runs the same check, so a backup that passes here passes there.
 */
function integrityProblem(file: string): string | undefined {
  using connection = new DatabaseSync(file, { readOnly: true })
  try {
    const result = String(connection.prepare('PRAGMA integrity_check(1)').get()?.integrity_check)
    return result === 'ok' ? undefined : result.replaceAll(/\s+/g, ' ')
  } catch (error) {
    return (error as Error).message
  }
}

export type ReplacedDatabase = {
  /** Undefined if there is none, or if it cannot be opened. Reading it fails if it is damaged. */
  readonly db: Db | undefined
  readonly lastChangeId: number
}

/** Replaces the database with a backup, which is checked, migrated and prepared in a staging folder first. */
export async function restoreDatabase(
  file: string,
  dataDir: string,
  now: number,
  prepare: (restored: Database, replaced: ReplacedDatabase) => Promise<void>,
  onProgress: OnProgress = () => {},
): Promise<Backup> {
  if (integrityProblem(file) !== undefined || !isPetstore(file))
    throw new Error(`${file} is not a complete backup of a petstore database.`)
  removeStaging(dataDir)
  const staging = mkdtempSync(join(dataDir, stagingPrefix))
  const releaseLock = lockFile(stagingLock(staging), 'The staging folder is locked.')
  try {
    const rows = await copyPages(file, databaseFile(staging), onProgress)
    const database = await openMigrated({ dataDir: staging }, now)
    await renewIdentity(database)
    {
      using connection = openReplaced(databaseFile(dataDir))
      const lastChangeId = connection ? lastChangeIdIn(connection) : 0
      await prepare(database, { db: connection && sqliteKysely(connection), lastChangeId })
    }
    await database.close()
    const { size: bytes } = statSync(databaseFile(staging))
    repairModes(databaseFile(dataDir))
    if (isOverwritable(databaseFile(dataDir))) await overwrite(databaseFile(staging), databaseFile(dataDir))
    else replaceDamaged(databaseFile(staging), dataDir, now)
    syncFolder(dataDir)
    return { bytes, rows }
  } finally {
    releaseLock()
    rmSync(staging, { recursive: true, force: true })
  }
}

/** Retries while a server writes to the target, which `node:sqlite` reports as an error with code 0. */
async function overwrite(source: string, target: string): Promise<void> {
  using connection = new DatabaseSync(source, { timeout: lockWaitMs })
  const isRetryable = (error: unknown) => (error as { errcode?: number }).errcode === 0 || isLocked(error)
  const retry = { waitMaxMs: lockWaitMs, retryMs: lockRetryMs, isRetryable }
  await withRetry(() => backup(connection, target), retry).catch((error: unknown) => {
    throw isRetryable(error) ? new Error(`${target} is locked by a write: try again later.`) : error
  })
}

/** Opens the database that is replaced. Undefined if there is none, or if it cannot be opened. */
function openReplaced(file: string): DatabaseSync | undefined {
  try {
    return existsSync(file) ? new DatabaseSync(file, { readOnly: true, timeout: lockWaitMs }) : undefined
  } catch {
    return undefined
  }
}

/** The last id of the change log; 0 if it cannot be read. */
function lastChangeIdIn(connection: DatabaseSync): number {
  try {
    const statement = connection.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?')
    return Number(statement.get(changeLogTable)?.seq ?? 0)
  } catch {
    return 0
  }
}

/** The operating system releases it when the process dies. */
const stagingLock = (staging: string): string => join(staging, 'lock')

/** Removes the staging folders of restores that were killed. */
function removeStaging(dataDir: string): void {
  for (const name of readdirSync(dataDir).filter((each) => each.startsWith(stagingPrefix))) {
    const staging = join(dataDir, name)
    if (isFileLocked(stagingLock(staging)))
      throw new Error(`Another restore of ${dataDir} is running: try again later.`)
    rmSync(staging, { recursive: true, force: true })
  }
}

/** Whether SQLite can overwrite a file page by page. A damaged file, or one with another page size, is replaced. */
function isOverwritable(file: string): boolean {
  if (!existsSync(file)) return true
  try {
    using connection = new DatabaseSync(file, { timeout: lockWaitMs })
    if (connection.prepare('PRAGMA page_size').get()?.page_size !== pageBytes) return false
    // Throws if the file is damaged.
    connection.prepare('SELECT count(*) FROM sqlite_schema').get()
    return true
  } catch (error) {
    return isLocked(error)
  }
}

/** Keeps the damaged database beside the restored one. No server may have it open. */
function replaceDamaged(source: string, dataDir: string, now: number): void {
  const release = acquireServerLock(dataDir)
  try {
    for (const suffix of ['', '-wal', '-shm']) {
      const file = `${databaseFile(dataDir)}${suffix}`
      if (existsSync(file)) renameSync(file, `${file}.damaged-${now}`)
    }
    syncFile(source)
    renameSync(source, databaseFile(dataDir))
  } finally {
    release()
  }
}

function isPetstore(file: string): boolean {
  using connection = new DatabaseSync(file, { readOnly: true })
  const statement = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'")
  return statement.get() !== undefined
}
