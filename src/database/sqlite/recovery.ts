import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { isLocked } from './driver.ts'
import { createExclusively, isNameTaken } from './files.ts'

/** How long a start waits for other processes to close a database that needs recovery. */
const exclusiveWaitMaxMs = 5_000

/**
 * The marker file exists after a failed sync. It need not be durable: a reboot clears the page cache, and with it the
 * pages that were never written.
 */
const markerFile = (databaseFile: string) => `${databaseFile}-failed`

/** Throws if the file system rejects the marker. Opening the database is then expected to fail too. */
export function markFailed(databaseFile: string): void {
  const marker = markerFile(databaseFile)
  if (!isNameTaken(marker)) createExclusively(marker)
}

export const needsRecovery = (databaseFile: string): boolean => isNameTaken(markerFile(databaseFile))

/**
 * Makes all committed data durable before it is read. After a failed sync or a crash the log may exist in the page cache
 * only, and the kernel may report it as written. The first connection to open a database reads the frames of the log that
 * have valid checksums. The checkpoint then writes them to the database file, syncs it, and truncates the log.
 *
 * Returns false if another process has the database open. That is an error only after a failed sync: otherwise the kernel
 * still tracks the unwritten pages, and syncing the log is enough.
 */
export function recoverDatabase(databaseFile: string): boolean {
  const isRequired = needsRecovery(databaseFile)
  using connection = new DatabaseSync(databaseFile, { timeout: isRequired ? exclusiveWaitMaxMs : 0 })
  try {
    connection.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL')
    const isBusy = connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy !== 0
    if (isBusy) throw new Error('the log could not be truncated')
  } catch (error) {
    if (!isLocked(error)) throw error
    if (!isRequired) return false
    throw new Error(
      'the disk failed earlier, so the database needs recovery, but another process has it open: stop that process, then start again',
    )
  }
  rmSync(markerFile(databaseFile), { force: true })
  return true
}
