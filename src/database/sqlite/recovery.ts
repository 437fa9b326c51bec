import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { isLocked } from './driver.ts'

/** How long a start waits for other processes to close a store that has to be recovered. */
const exclusiveWaitMaxMs = 5_000

/**
 * Present after a failed sync. It need not be durable itself: after a reboot the page cache is gone, and with it the
 * pages that were never written.
 */
const markerOf = (databaseFile: string) => `${databaseFile}-failed`

/** Throws if the file system does not accept the marker; opening the store is then expected to fail too. */
export function markFailed(databaseFile: string): void {
  writeFileSync(markerOf(databaseFile), '', { mode: 0o600 })
}

export const needsRecovery = (databaseFile: string): boolean => existsSync(markerOf(databaseFile))

/**
 * Makes everything that the store shows durable before it is shown. After a failed sync or a crash the log may be in the
 * page cache alone, and the kernel may report it as written although it is not. Opened by one connection alone, SQLite
 * reads the log again and takes of it what has valid checksums. The checkpoint then writes that into the database file,
 * which are new writes with a sync of their own, and empties the log.
 *
 * Where another process has the store open this cannot be done, and returns false. That is an error only after a failed
 * sync: otherwise the kernel still knows what it has to write, and syncing the log is enough.
 */
export function recoverStore(databaseFile: string): boolean {
  const isRequired = needsRecovery(databaseFile)
  const connection = new DatabaseSync(databaseFile, { timeout: isRequired ? exclusiveWaitMaxMs : 0 })
  try {
    connection.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL')
    const isBusy = connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy !== 0
    if (isBusy) throw new Error('the log could not be emptied')
  } catch (error) {
    if (!isLocked(error)) throw error
    if (!isRequired) return false
    throw new Error(
      'the disk failed earlier, so the store has to be recovered, but another process has it open: end that process, then start again',
    )
  } finally {
    connection.close()
  }
  rmSync(markerOf(databaseFile), { force: true })
  return true
}
