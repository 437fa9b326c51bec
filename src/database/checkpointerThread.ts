import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'
import { logBytes, logBytesUsual } from './checkpointer.ts'

const pollMs = 100
/** Beyond this the writer is held up for a moment, so that the log begins anew. */
const logBytesMax = 64 * 1024 * 1024
const lockWaitMaxMs = 1_000

const file = workerData as string
const connection = new DatabaseSync(file, { timeout: lockWaitMaxMs })
connection.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0')

setInterval(() => {
  const bytes = logBytes(file)
  if (bytes < logBytesUsual) return
  try {
    connection.exec(`PRAGMA wal_checkpoint(${bytes > logBytesMax ? 'RESTART' : 'PASSIVE'})`)
  } catch {
    // Somebody is in the way; there is a next time.
  }
}, pollMs)
