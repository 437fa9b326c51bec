/** Plain JavaScript, so that the thread needs no reader of types, which would take more memory than all the rest of it. */
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'

const pollMs = 100
/** Beyond this the writer is held up for a moment, so that the log begins anew. */
const logBytesMax = 64 * 1024 * 1024
const lockWaitMaxMs = 1_000

const { file, logBytesUsual } = workerData
const connection = new DatabaseSync(file, { timeout: lockWaitMaxMs })
connection.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0')

setInterval(() => {
  const bytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (bytes < logBytesUsual) return
  try {
    connection.exec(`PRAGMA wal_checkpoint(${bytes > logBytesMax ? 'RESTART' : 'PASSIVE'})`)
  } catch {
    // Somebody is in the way; there is a next time.
  }
}, pollMs)
