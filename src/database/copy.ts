import { chmodSync, renameSync, rmSync, statSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { openDatabase } from './open.ts'
import { databaseFile } from './sqlite.ts'

const lockWaitMs = 10_000

/** A whole copy of an embedded store, as it is at one moment; it has its name only once it is complete. */
export async function copyStore(source: string, target: string): Promise<number> {
  const unfinished = `${target}.unfinished`
  const connection = new DatabaseSync(source, { readOnly: true, timeout: lockWaitMs })
  try {
    rmSync(unfinished, { force: true })
    await backup(connection, unfinished)
    makeSingleFile(unfinished)
    // It holds the hashes of keys: nobody else's business.
    chmodSync(unfinished, 0o600)
    renameSync(unfinished, target)
    return statSync(target).size
  } finally {
    connection.close()
    rmSync(unfinished, { force: true })
  }
}

/** In WAL mode even a reader makes files beside the copy, and cannot read it where it may not. */
function makeSingleFile(file: string): void {
  const copy = new DatabaseSync(file)
  copy.exec('PRAGMA journal_mode = DELETE')
  copy.close()
}

/** Replaces the store by a backup. The backup is checked and migrated on the side, so a bad one changes nothing. */
export async function restoreStore(file: string, dataDir: string, now: number): Promise<number> {
  const side = await mkdtemp(join(dataDir, 'restore-'))
  try {
    checkBackup(file)
    await copyStore(file, databaseFile(side))
    await (await openDatabase(side, now)).close()
    const source = new DatabaseSync(databaseFile(side), { timeout: lockWaitMs })
    await backup(source, databaseFile(dataDir))
    source.close()
    return statSync(databaseFile(side)).size
  } finally {
    rmSync(side, { recursive: true, force: true })
  }
}

function checkBackup(file: string): void {
  const connection = new DatabaseSync(file, { readOnly: true })
  try {
    const isWhole = connection.prepare('PRAGMA integrity_check').get()?.integrity_check === 'ok'
    const table = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migrations'").get()
    if (isWhole && table) return
  } catch {
    // Not a database at all: said below.
  } finally {
    connection.close()
  }
  throw new Error(`${file} is not a whole backup of a petstore.`)
}
