import {
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Database } from '../database.ts'
import type { Db } from '../db.ts'
import { renewIdentity } from '../metadata.ts'
import { openMigrated } from '../open.ts'
import { withRetry } from '../retry.ts'
import { changeLogTable } from '../tables.ts'
import {
  type Backup,
  type CopyOptions,
  copyDatabaseFile,
  copyPages,
  integrityProblem,
  lockWaitMs,
  throwIfAborted,
} from './backup.ts'
import { isLocked, SqliteDb } from './driver.ts'
import { acquireServerLock, isFileLocked, lockFile } from './fileLock.ts'
import { createFolder, filesOf, repairModes, syncFile, syncFolder } from './files.ts'
import { databaseFile } from './open.ts'
import { explainUnwritable, isSystemError, otherDataFolder } from './unwritable.ts'

const lockRetryMs = 20
const stagingPrefix = 'restore-'
/** The default of SQLite, which every database of the service uses. */
const pageBytes = 4096

export type ReplacedDatabase = {
  /** Undefined if there is none, or if it cannot be opened. Reading it fails if it is damaged. */
  readonly db: Db | undefined
  /** 0 if it cannot be read. */
  readonly lastChangeId: number
}

/** Called with the restored database before it replaces the other one. */
type Prepare = (restored: Database, replaced: ReplacedDatabase) => Promise<void>

/** Replaces the database with a backup, which is checked, migrated and prepared in a staging folder first. */
export async function restoreDatabase(
  file: string,
  dataDir: string,
  now: number,
  prepare: Prepare,
  options: CopyOptions = {},
): Promise<Backup> {
  const problem = integrityProblem(file)
  if (problem !== undefined || !isPetstore(file)) {
    const reason = problem === undefined ? '' : ` (${problem})`
    throw new Error(`${file} is not a complete backup of a petstore database${reason}.`)
  }
  const isNewFolder = !existsSync(dataDir)
  try {
    createFolder(dataDir)
    removeStaging(dataDir)
    return await restoreChecked(file, dataDir, now, prepare, options)
  } catch (error) {
    // Before the new folder is removed: that it does not exist is never the reason.
    throw explainUnwritable(error, dataDir, otherDataFolder)
  } finally {
    if (isNewFolder) removeIfEmpty(dataDir)
  }
}

async function restoreChecked(
  file: string,
  dataDir: string,
  now: number,
  prepare: Prepare,
  options: CopyOptions,
): Promise<Backup> {
  const staging = mkdtempSync(join(dataDir, stagingPrefix))
  const releaseLock = lockFile(stagingLock(staging), 'The staging folder is locked.')
  try {
    const rows = await copyDatabaseFile(file, databaseFile(staging), options)
    const database = await openMigrated({ dataDir: staging }, now).catch((cause: Error) => {
      if (!isSystemError(cause)) throw cause
      throw new Error(`Nothing was restored: the migration of ${file} failed (${cause.message}).`, { cause })
    })
    try {
      await renewIdentity(database)
      using connection = openReplaced(databaseFile(dataDir))
      const db = connection && new SqliteDb(connection)
      const lastChangeId = await db?.dialect.lastAssignedId(db, changeLogTable).catch(() => 0)
      await prepare(database, { db, lastChangeId: lastChangeId ?? 0 })
    } finally {
      await database.close()
    }
    const { size: bytes } = statSync(databaseFile(staging))
    await throwIfAborted(options.signal)
    repairModes(databaseFile(dataDir))
    if (isOverwritable(databaseFile(dataDir)))
      await overwrite(databaseFile(staging), databaseFile(dataDir), options.signal)
    else moveIntoPlace(databaseFile(staging), dataDir, now)
    syncFolder(dataDir)
    return { bytes, rows }
  } finally {
    releaseLock()
    rmSync(staging, { recursive: true, force: true })
  }
}

/** Retries while a server writes to the target, which `node:sqlite` reports as an error with code 0. */
async function overwrite(source: string, target: string, signal: AbortSignal | undefined): Promise<void> {
  using connection = new DatabaseSync(source, { timeout: lockWaitMs })
  const isRetryable = (error: unknown) => (error as { errcode?: number }).errcode === 0 || isLocked(error)
  const retry = { waitMaxMs: lockWaitMs, retryMs: lockRetryMs, isRetryable }
  const copy = () => {
    signal?.throwIfAborted()
    return copyPages(connection, target, { signal })
  }
  await withRetry(copy, retry).catch((error: unknown) => {
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

/** Whether SQLite can overwrite a file page by page. It cannot if the file is damaged, or has another page size. */
function isOverwritable(file: string): boolean {
  if (!existsSync(file)) return false
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

/**
 * Keeps a damaged database beside the restored one. No server may have it open. There is always a database in place:
 * otherwise a server that starts after a crash would create an empty one.
 */
function moveIntoPlace(source: string, dataDir: string, now: number): void {
  const release = acquireServerLock(dataDir)
  try {
    syncFile(source)
    const [database = '', ...others] = filesOf(databaseFile(dataDir))
    if (existsSync(database)) keepAs(database, `${database}.damaged-${now}`)
    for (const file of others) if (existsSync(file)) renameSync(file, `${file}.damaged-${now}`)
    renameSync(source, database)
  } finally {
    release()
  }
}

/** Gives the file a second name, or only the new one if the file system has no links. */
function keepAs(file: string, name: string): void {
  try {
    linkSync(file, name)
  } catch {
    renameSync(file, name)
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // It has the restored database.
  }
}

function isPetstore(file: string): boolean {
  using connection = new DatabaseSync(file, { readOnly: true })
  const statement = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'")
  return statement.get() !== undefined
}
