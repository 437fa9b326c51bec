import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { Checkpointer, logBytesUsual } from './checkpointer.ts'
import { type Database, StoreUnavailableError } from './database.ts'
import { sqliteDialect } from './dialect.ts'
import { makePrivate } from './files.ts'
import { scrubber } from './scrubber.ts'
import { isLocked, sqliteKysely, tracesOf } from './sqliteKysely.ts'
import type { Tables } from './tables.ts'
import { WalSync } from './walSync.ts'
import { type Engine, type Turn, WriteQueue } from './writeQueue.ts'

const openWaitMaxMs = 5_000
const readWaitMaxMs = 50
const lockWaitMaxMs = 5_000
const lockRetryMs = 20
const foreignChangePollMs = 500

export const databaseFile = (dataDir: string): string => join(dataDir, 'petstore.db')

/**
 * The embedded store: one connection that writes, one that reads, both on one file in WAL mode. A server must not be
 * held up by the disk, so its commits are synced from another thread before they are answered; a command may well wait.
 */
export function openSqlite(dataDir: string, isServing = false): Database {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  makePrivate(databaseFile(dataDir))
  // The writer waits for nobody inside SQLite, which would hold the event loop: the queue waits for it.
  const writer = connect(databaseFile(dataDir), 0)
  const reader = connect(databaseFile(dataDir), readWaitMaxMs)
  reader.exec('PRAGMA query_only = ON')
  const inode = statSync(databaseFile(dataDir)).ino
  const read = sqliteKysely(reader)
  const file = databaseFile(dataDir)
  const disk = isServing ? syncElsewhere(file, writer) : undefined
  // Whoever fills a store by a command has its indexes at hand, and goes to the disk less often.
  if (!isServing) writer.exec('PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 16384')
  const touched = touchedPets(writer)
  const queue = new WriteQueue({ ...sqliteEngine(writer, touched), ...(disk && { sync: disk.sync }) })
  const watch = watchForeignChanges(writer)
  return {
    dialect: sqliteDialect,
    read,
    write: (work) => queue.add(work),
    writeApart: (work) => queue.add(work),
    upgrade: (work) => queue.add(work),
    snapshot: (work) => snapshot(databaseFile(dataDir), work),
    version: versionOf(reader, queue),
    watchPets(listener) {
      touched.watch(listener)
      return versionOf(writer, queue)
    },
    onCommit: (listener) => queue.onCommit(listener),
    scrub: scrubber(writer),
    onForeignChange: watch.listen,
    load: () => ({ writesWaiting: queue.waiting, connectionsBusy: 0, connectionsAwaited: 0 }),
    async ping() {
      reader.prepare('SELECT version FROM schema_migrations').get()
      if (disk?.failure) throw new StoreUnavailableError('The disk has failed.', { cause: disk.failure })
      // Files that were deleted under us still take what is written, and lose it when we end.
      if (statSync(databaseFile(dataDir)).ino !== inode) throw new StoreUnavailableError('The store is gone.')
    },
    async close() {
      watch.stop()
      await queue.idle()
      await disk?.close()
      reader.close()
      writer.close()
    },
  }
}

/** Commits come back as soon as they are in the log; what is to be waited for is then done by other threads. */
function syncElsewhere(file: string, writer: DatabaseSync) {
  writer.exec(
    `PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${logBytesUsual}`,
  )
  const log = new WalSync(file)
  const checkpointer = new Checkpointer(file)
  return {
    sync: () => {
      checkpointer.noteCommit()
      return log.sync()
    },
    get failure() {
      return log.failure
    },
    async close() {
      await checkpointer.stop()
      await log.close()
    },
  }
}

/** Notes which animals the writer changes or removes, and tells of them with the commit. */
function touchedPets(writer: DatabaseSync) {
  const ids = new Set<number>()
  let listener: ((id: number) => void) | undefined
  return {
    watch(told: (id: number) => void) {
      listener = told
      writer.function('touched_pet', (id) => {
        ids.add(Number(id))
        return null
      })
      for (const change of ['UPDATE', 'DELETE'])
        writer.exec(
          `CREATE TEMP TRIGGER touched_by_${change} AFTER ${change} ON main.pets BEGIN SELECT touched_pet(OLD.id); END`,
        )
    },
    /** At once with the commit: whoever reads after it must find what is new. */
    tell() {
      if (ids.size === 0) return
      for (const id of ids) listener?.(id)
      ids.clear()
    },
  }
}

/**
 * SQLite counts for each connection what all others have committed: for the reader, the writer beside it included. It is
 * asked once in a turn of the event loop: what has come in by then was sent before.
 */
function versionOf(connection: DatabaseSync, queue: WriteQueue): () => number {
  const statement = connection.prepare('PRAGMA data_version')
  let version: number | undefined
  let unknown = -1
  const forget = () => {
    version = undefined
  }
  queue.onCommit(forget)
  return () => {
    if (version === undefined) {
      try {
        version = Number(statement.get()?.data_version)
      } catch (error) {
        // Somebody has the file to himself for a moment: he is about to change it.
        if (!isLocked(error)) throw error
        version = --unknown
      }
      setImmediate(forget)
    }
    return version
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

/** Whoever opens a store for the first time, or closes it as the last, has it to himself for a moment: opening waits. */
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

/** Transactions on the one connection that writes. */
function sqliteEngine(connection: DatabaseSync, touched: { tell(): void }): Engine {
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
      prepared(statement).run()
      if (statement === 'COMMIT') touched.tell()
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
    // What SQLite does not commit it has not done.
    isOutcomeUnknown: () => false,
  }
}

/** SQLite counts the commits of other connections; the reader here never commits, so they are other processes'. */
function watchForeignChanges(writer: DatabaseSync) {
  const statement = writer.prepare('PRAGMA data_version')
  const version = () => statement.get()?.data_version
  const listeners: (() => void)[] = []
  let seen = version()
  const timer = setInterval(() => {
    try {
      const current = version()
      if (current === seen) return
      seen = current
    } catch (error) {
      // Somebody has the file to himself for a moment: he is about to change it.
      if (!isLocked(error)) throw error
    }
    for (const listener of listeners) listener()
  }, foreignChangePollMs)
  timer.unref()
  return {
    listen: (listener: () => void) => void listeners.push(listener),
    stop: () => clearInterval(timer),
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
