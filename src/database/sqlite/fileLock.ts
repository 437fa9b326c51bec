import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLocked } from './driver.ts'
import { createFolder, createPrivateRegularFile, repairModes } from './files.ts'

/** Longer than `isFileLocked` takes, which locks the file for a moment. */
const lockWaitMs = 100

/**
 * Creates the file if needed and locks it, or fails with the message if another process has locked it. The operating system
 * releases the lock when the process dies. Node cannot lock files, so SQLite does it.
 */
export function lockFile(file: string, message: string): () => void {
  createPrivateRegularFile(file)
  repairModes(file)
  const lock = new DatabaseSync(file, { timeout: lockWaitMs })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (!isLocked(error)) throw error
    throw new Error(message)
  }
  return () => lock.close()
}

export function isFileLocked(file: string): boolean {
  try {
    using lock = new DatabaseSync(file, { readOnly: true, timeout: 0 })
    lock.prepare('SELECT 1 FROM sqlite_schema').get()
    return false
  } catch (error) {
    // Any other error means that there is no such file.
    return isLocked(error)
  }
}

const serverLockFile = (dataDir: string): string => join(dataDir, 'server.lock')

/** Prevents a second server on the same data folder: each would count only its share of the requests. */
export function acquireServerLock(dataDir: string): () => void {
  createFolder(dataDir)
  const message = `Another petstore server is running on ${dataDir}: stop it, or set PETSTORE_DATA_DIR.`
  return lockFile(serverLockFile(dataDir), message)
}

export const isServerRunning = (dataDir: string): boolean => isFileLocked(serverLockFile(dataDir))
