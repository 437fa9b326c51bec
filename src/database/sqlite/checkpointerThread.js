/** Plain JavaScript, so that the thread needs no reader of types, which would take more memory than all the rest of it. */
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

const pollMs = 100
/** Beyond this the writer is held up for a moment, so that the log begins anew. */
const logBytesMax = 64 * 1024 * 1024
const lockWaitMaxMs = 1_000
/** A transaction that reads for longer than a day is considered leaked: emptying the log is given up then. */
const truncateAttemptsMax = (24 * 60 * 60 * 1000) / pollMs
/** SQLite's result code for a failed read, write, sync or truncate; an extended code has it in its lowest byte. */
const ioError = 10

const { file, logBytesUsual } = workerData
let connection
let truncateAttempts = 0

parentPort.on('message', () => {
  truncateAttempts = truncateAttemptsMax
})
// The messages alone do not keep the thread alive.
parentPort.unref()

const timer = setInterval(() => {
  try {
    connection ??= connect()
    if (truncateAttempts > 0) truncate()
    else checkpoint()
  } catch (error) {
    // Locked, or no space left: the log keeps everything, and the next attempt may succeed. Requests report other errors.
    if (error.errcode % 256 !== ioError) return
    // What the kernel could not write it may have dropped: a second attempt would report success without writing it.
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
  if (bytes < logBytesUsual) return
  connection.exec(`PRAGMA wal_checkpoint(${bytes > logBytesMax ? 'RESTART' : 'PASSIVE'})`)
}

/** Deleted rows are zeroed in their pages; this empties the log of pages beside them. It waits for no lock. */
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
