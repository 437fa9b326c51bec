import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { type Database, DatabaseUnavailableError, type StorageFault } from '../database.ts'
import { sqliteDialect } from '../dialect.ts'
import type { Tables } from '../tables.ts'
import { type Engine, type Turn, WriteQueue } from '../writeQueue.ts'
import { touchedPets, versionOf, watchForeignChanges } from './changes.ts'
import { isIoError, isLocked, sqliteKysely, tracesOf } from './driver.ts'
import { Durability, defaultSyncMaxMs } from './durability.ts'
import { makePrivate } from './files.ts'
import { needsRecovery, recoverStore } from './recovery.ts'

const openWaitMaxMs = 5_000
const readWaitMaxMs = 50
const lockWaitMaxMs = 5_000
const lockRetryMs = 20

export const databaseFile = (dataDir: string): string => join(dataDir, 'petstore.db')

type SqliteOptions = {
  readonly isServing?: boolean | undefined
  readonly syncMaxMs?: number | undefined
}

/**
 * The embedded store: one connection that writes, one that reads, both on one file in WAL mode. A server must not be
 * held up by the disk, so its commits are synced from another thread before they are answered; a command may well wait.
 */
export function openSqlite(dataDir: string, { isServing, syncMaxMs }: SqliteOptions = {}): Database {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = databaseFile(dataDir)
  makePrivate(file)
  const isRecovered = isServing || needsRecovery(file) ? recoverStore(file) : false
  // The writer waits for nobody inside SQLite, which would hold the event loop: the queue waits for it.
  const writer = connect(file, 0)
  const reader = connect(file, readWaitMaxMs)
  reader.exec('PRAGMA query_only = ON')
  const inode = statSync(file).ino
  const read = sqliteKysely(reader)
  const faultListeners: ((fault: StorageFault) => void)[] = []
  const onFault = (fault: StorageFault) => {
    if (fault.kind !== 'failed') queue.setStalled(fault.kind === 'overdue')
    for (const listener of faultListeners) listener(fault)
  }
  const touched = touchedPets(writer)
  const queue: WriteQueue = new WriteQueue(sqliteEngine(writer, touched, () => disk))
  const foreignVersion = versionOf(writer, queue)
  const disk = isServing
    ? new Durability({
        databaseFile: file,
        writer,
        read,
        syncMaxMs: syncMaxMs ?? defaultSyncMaxMs,
        foreignVersion,
        onFault,
      })
    : undefined
  // A command that fills a store keeps its indexes in memory, and goes to the disk less often.
  if (!disk) writer.exec('PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 16384')
  // A crash may have come between an erasure and the truncation behind it.
  if (!isRecovered) disk?.truncate()
  const watch = watchForeignChanges(writer, disk && (() => disk.sync()))
  return {
    dialect: sqliteDialect,
    read,
    write: (work, onDurable) => queue.add(work, onDurable),
    writeConcurrently: (work) => queue.add(work),
    migrate: (work) => queue.add(work),
    snapshot: (work) => snapshot(file, work),
    version: versionOf(reader, queue),
    watchPets(listener) {
      touched.watch(listener)
      return foreignVersion
    },
    onCommit: (listener) => queue.onCommit(listener),
    trackDurable: async (query) => disk?.follow(query) ?? (() => Number.MAX_SAFE_INTEGER),
    onStorageFault: (listener) => void faultListeners.push(listener),
    // A command empties the log when it closes the store as the last process.
    truncateWal: () => disk?.truncate(),
    onForeignChange: watch.listen,
    stats: () => ({ writesWaiting: queue.waiting, connectionsBusy: 0, connectionsAwaited: 0 }),
    async ping() {
      disk?.assertWritable()
      reader.prepare('SELECT version FROM schema_migrations').get()
      // Files that were deleted under us still take what is written, and lose it when we end.
      if (statSync(file).ino !== inode) throw new DatabaseUnavailableError('The store is gone.')
    },
    async close() {
      watch.stop()
      await queue.idle()
      await disk?.close()
      // The last connection to close would move the log into the store, which the next start has to do from scratch.
      if (disk?.hasFailed) return
      reader.close()
      writer.close()
    },
  }
}

async function snapshot<T>(file: string, work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
  const connection = connect(file, readWaitMaxMs)
  try {
    connection.exec('PRAGMA query_only = ON; BEGIN')
    return await work(sqliteKysely(connection))
  } finally {
    connection.close()
  }
}

/** Opening a store for the first time, and closing it as the last, takes an exclusive lock: opening waits for it. */
function connect(file: string, waitMaxMs: number): DatabaseSync {
  const connection = new DatabaseSync(file, { timeout: openWaitMaxMs })
  connection.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA secure_delete = ON;
    PRAGMA busy_timeout = ${waitMaxMs};
  `)
  return connection
}

/** Transactions on the one connection that writes. `disk` is what a server has its commits synced by. */
function sqliteEngine(
  connection: DatabaseSync,
  touched: { tell(): void },
  disk: () => Durability | undefined,
): Engine {
  const statements = new Map<string, StatementSync>()
  const prepared = (text: string) => {
    const statement = statements.get(text) ?? connection.prepare(text)
    statements.set(text, statement)
    return statement
  }
  const trx = sqliteKysely(connection)
  const turn: Turn = {
    trx,
    run(statement) {
      if (statement !== 'COMMIT') return void prepared(statement).run()
      // Failing before COMMIT guarantees that nothing was applied.
      disk()?.assertWritable()
      try {
        prepared(statement).run()
      } catch (error) {
        if (isIoError(error)) disk()?.fail(error)
        throw error
      }
      touched.tell()
    },
    get isOpen() {
      return connection.isTransaction
    },
    get traces() {
      return tracesOf(trx)
    },
    end() {},
  }
  return {
    /** Another process may hold the write lock; waiting for it must not hold the event loop. */
    async begin() {
      const deadline = performance.now() + lockWaitMaxMs
      for (;;) {
        disk()?.assertWritable()
        try {
          prepared('BEGIN IMMEDIATE').run()
          return turn
        } catch (error) {
          if (!isLocked(error) || performance.now() > deadline) throw error
          await pause(lockRetryMs)
        }
      }
    },
    isPassing: () => false,
    // What could not be written, or be synced, may be in the log all the same, and come back with a recovery.
    isOutcomeUnknown: isIoError,
    sync: () => disk()?.sync(),
  }
}

/**
 * Held by a server as long as it lives, and released by the operating system when it dies:
 * two servers on one embedded store would each count half of the requests.
 */
export function holdServerLock(dataDir: string): () => void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const file = join(dataDir, 'server.lock')
  makePrivate(file)
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
