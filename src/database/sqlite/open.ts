import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { pollForChanges } from '../changePoller.ts'
import { type Database, DatabaseUnavailableError, type StorageFault } from '../database.ts'
import type { Db } from '../db.ts'
import { withRetry } from '../retry.ts'
import { databaseVersionReader, RowChanges } from './changes.ts'
import { isLocked, SqliteDb } from './driver.ts'
import { Durability, defaultSyncMaxMs } from './durability.ts'
import { isServerRunning } from './fileLock.ts'
import { createFolder, restrictFileModes } from './files.ts'
import { needsRecovery, recoverDatabase } from './recovery.ts'
import { writerTurnMs } from './writeBatch.ts'
import { WriteQueue } from './writeQueue.ts'

const openWaitMaxMs = 5_000
/** SQLite does not wait if several connections turn on WAL mode in a new database at the same time: one succeeds. */
const openRetry = { waitMaxMs: openWaitMaxMs, retryMs: 20, isRetryable: isLocked }
const readWaitMaxMs = 50
const defaultChangePollMs = 500

export const databaseFile = (dataDir: string): string => join(dataDir, 'petstore.db')

type SqliteOptions = {
  readonly isServing?: boolean | undefined
  readonly syncMaxMs?: number | undefined
  readonly changePollMs?: number | undefined
}

const noConnections = { connectionsBusy: 0, connectionsAwaited: 0, replicasUsable: 0 }

/**
 * One connection that writes and one that reads, on one file in WAL mode. The disk must not block a server, so another
 * thread syncs its commits before they are confirmed. A command syncs in COMMIT.
 */
export async function openSqlite(
  dataDir: string,
  { isServing, syncMaxMs = defaultSyncMaxMs, changePollMs = defaultChangePollMs }: SqliteOptions = {},
): Promise<Database> {
  createFolder(dataDir)
  const file = databaseFile(dataDir)
  restrictFileModes(file)
  const isRecovered = isServing || needsRecovery(file) ? recoverDatabase(file) : false
  // The batch writer waits for locks, because SQLite would block the event loop.
  const writer = await withRetry(() => connect(file, 0), openRetry)
  const reader = connect(file, readWaitMaxMs)
  reader.exec('PRAGMA query_only = ON')
  const inode = statSync(file).ino
  const read = new SqliteDb(reader)
  const faultListeners: ((fault: StorageFault) => void)[] = []
  const onFault = (fault: StorageFault) => {
    if (fault.kind !== 'failed') queue.setStalled(fault.kind === 'overdue')
    for (const listener of faultListeners) listener(fault)
  }
  const rowChanges = new RowChanges(writer)
  const queue: WriteQueue = new WriteQueue({ writer, rowChanges, durability: () => durability })
  const externalVersion = databaseVersionReader(writer, queue)
  const durability = isServing
    ? new Durability({ databaseFile: file, writer, read, syncMaxMs, externalVersion, onFault })
    : undefined
  // Commands that import data keep the indexes in memory and write to the disk less often.
  if (!durability) writer.exec('PRAGMA cache_size = -12288; PRAGMA wal_autocheckpoint = 16384')
  // The previous process may have crashed between deleting data and truncating the log.
  if (!isRecovered) durability?.truncateWal()
  // The reader never commits, so a new version of the writer is a commit of another process.
  const externalChanges = pollForChanges(externalVersion, {
    intervalMs: changePollMs,
    initial: externalVersion(),
    sync: () => durability?.sync(),
  })
  const readableThrough = () => durability?.readableThrough() ?? Number.MAX_SAFE_INTEGER
  return {
    read,
    unknownCallerDb: read,
    replica: undefined,
    write: (work, options) => queue.add(work, options?.onDurable),
    run: (query) => queue.add(async (trx) => (await trx.executeQuery(query)).rows),
    writeUnlogged: (work) => queue.add(work),
    migrate: (work) => queue.add((trx) => work(trx, async (script) => trx.sqlite.runScript(script))),
    snapshot: (work) => snapshot(file, work),
    version: databaseVersionReader(reader, queue),
    watchRows(sources, listener) {
      rowChanges.watch(sources, listener)
      return externalVersion
    },
    onCommit: (listener) => queue.onCommit(listener),
    readableThrough,
    allReadableThrough: readableThrough,
    onStorageFault: (listener) => void faultListeners.push(listener),
    // In a command, the last connection to close truncates the log.
    truncateWal: () => durability?.truncateWal(),
    async yieldToServer() {
      if (isServerRunning(dataDir)) await sleep(writerTurnMs)
    },
    onExternalChange: externalChanges.listen,
    stats: () => ({ ...noConnections, writesWaiting: queue.length }),
    async ping() {
      durability?.assertWritable()
      reader.prepare('SELECT version FROM schema_migrations').get()
      // A deleted file still accepts writes and loses them when this process closes it.
      if (statSync(file).ino !== inode) throw new DatabaseUnavailableError('The database file was replaced.')
    },
    async close() {
      externalChanges.stop()
      await queue.close()
      await durability?.close()
      // Closing the last connection would checkpoint the log. After a failure the next start has to recover it.
      if (durability?.hasFailed) return
      reader.close()
      writer.close()
    },
  }
}

async function snapshot<T>(file: string, work: (db: Db) => Promise<T>): Promise<T> {
  using connection = connect(file, readWaitMaxMs)
  connection.exec('PRAGMA query_only = ON; BEGIN')
  return await work(new SqliteDb(connection))
}

/** Creating a database, and closing its last connection, takes an exclusive lock, which opening waits for. */
function connect(file: string, lockWaitMs: number): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: openWaitMaxMs })
  try {
    connection.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA foreign_keys = ON;
      PRAGMA secure_delete = ON;
      PRAGMA busy_timeout = ${lockWaitMs};
    `)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
