import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLocked } from './driver.ts'
import { createFolder, restrictFileModes } from './files.ts'

/**
 * Prevents a second server on the same data folder: each would count only its share of the requests. The operating system
 * releases the lock when the process dies.
 */
export function acquireServerLock(dataDir: string): () => void {
  createFolder(dataDir)
  const file = join(dataDir, 'server.lock')
  restrictFileModes(file)
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (!isLocked(error)) throw error
    throw new Error(`Another petstore server is running on ${dataDir}: stop it, or set PETSTORE_DATA_DIR.`)
  }
  return () => lock.close()
}
