/** Plain JavaScript: type stripping would take more memory than the rest of the thread. */
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

const pollMs = 100
/** A larger log is restarted, which blocks the writer briefly. */
const restartBytes = 64 * 1024 * 1024
const lockWaitMaxMs = 1_000
/** Truncating is abandoned after a day: a transaction that reads for longer is considered leaked. */
const truncateAttemptsMax = (24 * 60 * 60 * 1000) / pollMs
/** SQLite's result code for a failed read, write, sync or truncate. It is the lowest byte of an extended code. */
const ioError = 10

const { file, checkpointBytes } = workerData
let connection
let truncateAttempts = 0

parentPort.on('message', () => {
  truncateAttempts = truncateAttemptsMax
})
// The message port does not keep the thread alive.
parentPort.unref()

const timer = setInterval(() => {
  try {
    connection ??= connect()
    if (truncateAttempts > 0) truncate()
    else checkpoint()
  } catch (error) {
    // Locked, or no space left: the log is intact, and the next attempt may succeed. Requests report other errors.
    if (error.errcode % 256 !== ioError) return
    // The kernel may have dropped the pages that it could not write. A second attempt would report success.
    clearInterval(timer)
    parentPort.postMessage(`A checkpoint of ${file} failed: ${error.message}`)
  }
}, pollMs)

function connect() {
  const opened = new DatabaseSync(file, { timeout: lockWaitMaxMs })
  try {
    opened.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0')
    return opened
  } catch (error) {
    opened.close()
    throw error
  }
}

function checkpoint() {
  const bytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (bytes < checkpointBytes) return
  connection.exec(`PRAGMA wal_checkpoint(${bytes > restartBytes ? 'RESTART' : 'PASSIVE'})`)
}

/** SQLite overwrites deleted rows in the database file. Truncating removes their old pages from the log. */
function truncate() {
  truncateAttempts--
  connection.exec('PRAGMA busy_timeout = 0')
  try {
    const { busy } = connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    if (busy === 0) truncateAttempts = 0
  } finally {
    connection.exec(`PRAGMA busy_timeout = ${lockWaitMaxMs}`)
  }
}
