import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../database.ts'
import { renewIdentity } from '../metadata.ts'
import { openMigrated } from '../open.ts'
import { isLocked } from './driver.ts'
import { makePrivate, repairModes, syncFile, syncFolder } from './files.ts'
import { databaseFile, holdServerLock } from './open.ts'

const lockWaitMs = 10_000
const lockRetryMs = 20
const sidePrefix = 'restore-'
/** SQLite's own default, which every store of ours has. */
const pageBytes = 4096

/**
 * A backup: a whole copy of an embedded store as it is at one moment. It gets its name only once it is complete, checked
 * and on disk.
 */
export async function backupDatabase(source: string, target: string): Promise<number> {
  const unfinished = `${target}.unfinished`
  try {
    rmSync(unfinished, { force: true })
    await copyPages(source, unfinished)
    const problem = integrityProblem(unfinished)
    if (problem !== undefined) {
      throw new Error(
        `No backup was written: the copy of ${source} fails SQLite's integrity check (${problem}). The store may be damaged: keep your last backup, and check the disk.`,
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
    return statSync(target).size
  } finally {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${unfinished}${suffix}`, { force: true })
  }
}

async function copyPages(source: string, target: string): Promise<void> {
  makePrivate(target)
  const connection = new DatabaseSync(source, { readOnly: true, timeout: lockWaitMs })
  try {
    // Held open, this view of the store does not change; otherwise each write of a server would start the copy over.
    connection.exec('BEGIN; SELECT 1 FROM sqlite_schema')
    await backup(connection, target)
  } finally {
    connection.close()
  }
  makeSingleFile(target)
}

/**
 * The first problem that SQLite finds in a database. The full check, not quick_check, which does not compare indexes with
 * their tables: a restore makes the full one, and what passes here must pass there. It takes about 3.5 seconds for each
 * million animals, and quick_check 0.5.
 */
function integrityProblem(file: string): string | undefined {
  const connection = new DatabaseSync(file, { readOnly: true })
  try {
    const result = String(connection.prepare('PRAGMA integrity_check(1)').get()?.integrity_check)
    return result === 'ok' ? undefined : result.replaceAll(/\s+/g, ' ')
  } catch (error) {
    return (error as Error).message
  } finally {
    connection.close()
  }
}

/** In WAL mode even a reader makes files beside the copy, and cannot read it where it may not. */
function makeSingleFile(file: string): void {
  const copy = new DatabaseSync(file)
  copy.exec('PRAGMA journal_mode = DELETE')
  copy.close()
}

/** Replaces the store by a backup. The backup is checked, migrated and prepared on the side, so a bad one changes nothing. */
export async function restoreDatabase(
  file: string,
  dataDir: string,
  now: number,
  prepare: (restored: Database, lastEventId: number) => Promise<void>,
): Promise<number> {
  removeLeftovers(dataDir)
  const side = await mkdtemp(join(dataDir, sidePrefix))
  try {
    checkBackup(file)
    await copyPages(file, databaseFile(side))
    const database = await openMigrated({ dataDir: side }, now)
    await renewIdentity(database)
    await prepare(database, lastEventIdIn(databaseFile(dataDir)))
    await database.close()
    const { size } = statSync(databaseFile(side))
    repairModes(databaseFile(dataDir))
    if (isUsable(databaseFile(dataDir))) await overwrite(databaseFile(side), databaseFile(dataDir))
    else replaceDamaged(databaseFile(side), dataDir, now)
    syncFolder(dataDir)
    return size
  } finally {
    rmSync(side, { recursive: true, force: true })
  }
}

/** A server may be writing to the target at this moment, which `node:sqlite` reports as an error without a code. */
async function overwrite(source: string, target: string): Promise<void> {
  const connection = new DatabaseSync(source, { timeout: lockWaitMs })
  const deadline = performance.now() + lockWaitMs
  try {
    for (;;) {
      const error = await backup(connection, target).then(
        () => undefined,
        (thrown: { errcode?: number }) => thrown,
      )
      if (error === undefined) return
      if (error.errcode !== 0 && !isLocked(error)) throw error
      if (performance.now() > deadline) throw new Error(`${target} is being written to: try again later.`)
      await pause(lockRetryMs)
    }
  } finally {
    connection.close()
  }
}

/** How far the feed of the store that is to be replaced has come, as far as that can still be read. */
function lastEventIdIn(file: string): number {
  if (!existsSync(file)) return 0
  try {
    const connection = new DatabaseSync(file, { readOnly: true, timeout: lockWaitMs })
    try {
      return Number(
        connection.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'events'").get()?.seq ?? 0,
      )
    } finally {
      connection.close()
    }
  } catch {
    return 0
  }
}

/** What a restore that was killed has left behind. */
function removeLeftovers(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (name.startsWith(sidePrefix)) rmSync(join(dataDir, name), { recursive: true, force: true })
  }
}

/** Whether SQLite can write into a file page by page; a damaged one, or one with other pages, has to make room. */
function isUsable(file: string): boolean {
  if (!existsSync(file)) return true
  try {
    const connection = new DatabaseSync(file, { timeout: lockWaitMs })
    try {
      const pageSize = connection.prepare('PRAGMA page_size').get()?.page_size
      return (
        pageSize === pageBytes && connection.prepare('SELECT count(*) FROM sqlite_schema').get() !== undefined
      )
    } finally {
      connection.close()
    }
  } catch (error) {
    return isLocked(error)
  }
}

/** The damaged store is kept beside the restored one, for whoever wants to look into it. No server may have it open. */
function replaceDamaged(source: string, dataDir: string, now: number): void {
  const release = holdServerLock(dataDir)
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

function checkBackup(file: string): void {
  if (integrityProblem(file) === undefined && isPetstore(file)) return
  throw new Error(`${file} is not a whole backup of a petstore.`)
}

function isPetstore(file: string): boolean {
  const connection = new DatabaseSync(file, { readOnly: true })
  try {
    return (
      connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").get() !== undefined
    )
  } finally {
    connection.close()
  }
}
