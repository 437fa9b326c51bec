import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { type Database, StoreUnavailableError } from './database.ts'
import { sqliteDialect } from './dialect.ts'
import { scrubber } from './scrubber.ts'
import { isLocked, sqliteKysely } from './sqliteKysely.ts'
import type { Tables } from './tables.ts'

const openWaitMaxMs = 5_000
const readWaitMaxMs = 50
const lockWaitMaxMs = 5_000
const lockRetryMs = 20
const writesWaitingMax = 10_000
const writesPerCommitMax = 256
const foreignChangePollMs = 500

export const databaseFile = (dataDir: string): string => join(dataDir, 'petstore.db')

/** The embedded store: one connection that writes, one that reads, both on one file in WAL mode. */
export function openSqlite(dataDir: string): Database {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  // The writer waits for nobody inside SQLite, which would hold the event loop: the queue waits for it.
  const writer = connect(databaseFile(dataDir), 0)
  const reader = connect(databaseFile(dataDir), readWaitMaxMs)
  reader.exec('PRAGMA query_only = ON')
  const inode = statSync(databaseFile(dataDir)).ino
  const read = sqliteKysely(reader)
  const queue = new WriteQueue(writer, sqliteKysely(writer))
  const watch = watchForeignChanges(writer)
  return {
    dialect: sqliteDialect,
    read,
    write: (work) => queue.add(work),
    snapshot: (work) => snapshot(databaseFile(dataDir), work),
    onCommit: (listener) => queue.onCommit(listener),
    scrub: scrubber(writer),
    onForeignChange: watch.listen,
    async ping() {
      reader.prepare('SELECT version FROM schema_migrations').get()
      // Files that were deleted under us still take what is written, and lose it when we end.
      if (statSync(databaseFile(dataDir)).ino !== inode) throw new StoreUnavailableError('The store is gone.')
    },
    async close() {
      watch.stop()
      await queue.idle()
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

type Unit = {
  work: (trx: Kysely<Tables>) => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

/**
 * Writes run one after another, and all that wait at one moment share one commit, hence one fsync.
 * Each has a savepoint of its own: one that fails leaves nothing behind and does not touch its neighbours.
 */
class WriteQueue {
  readonly #connection: DatabaseSync
  readonly #trx: Kysely<Tables>
  readonly #waiting: Unit[] = []
  readonly #listeners: (() => void)[] = []
  #draining: Promise<void> | undefined

  constructor(connection: DatabaseSync, trx: Kysely<Tables>) {
    this.#connection = connection
    this.#trx = trx
  }

  add<T>(work: (trx: Kysely<Tables>) => Promise<T>): Promise<T> {
    if (this.#waiting.length >= writesWaitingMax) {
      return Promise.reject(new StoreUnavailableError('Too many writes are waiting.'))
    }
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#waiting.push({ work, resolve: resolve as Unit['resolve'], reject })
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = undefined
    })
    return promise
  }

  onCommit(listener: () => void): void {
    this.#listeners.push(listener)
  }

  async idle(): Promise<void> {
    while (this.#draining) await this.#draining
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // One turn of the event loop, so that requests that are already here join this commit.
      await nextTurn()
      await this.#commitBatch()
    }
  }

  async #commitBatch(): Promise<void> {
    const refused = await this.#begin()
    // Who waited behind a lock has waited long enough, also those that would have been in a later commit.
    const units = this.#waiting.splice(0, refused ? writesWaitingMax : writesPerCommitMax)
    const answers: (() => void)[] = []
    try {
      if (refused) throw refused
      for (const unit of units) answers.push(await this.#run(unit))
      this.#connection.exec('COMMIT')
    } catch (error) {
      if (this.#connection.isTransaction) this.#connection.exec('ROLLBACK')
      const failure = new StoreUnavailableError('The store did not take the change.', { cause: error })
      for (const unit of units) unit.reject(failure)
      return
    }
    for (const answer of answers) answer()
    for (const listener of this.#listeners) listener()
  }

  /** Runs one unit and says how to answer it, once the commit is on disk. */
  async #run({ work, resolve, reject }: Unit): Promise<() => void> {
    this.#connection.exec('SAVEPOINT unit')
    try {
      const value = await work(this.#trx)
      this.#connection.exec('RELEASE unit')
      return () => resolve(value)
    } catch (error) {
      if (!this.#connection.isTransaction) throw error
      this.#connection.exec('ROLLBACK TO unit; RELEASE unit')
      return () => reject(error)
    }
  }

  /** Another process may hold the write lock; waiting for it must not hold the event loop. */
  async #begin(): Promise<Error | undefined> {
    const deadline = performance.now() + lockWaitMaxMs
    for (;;) {
      try {
        this.#connection.exec('BEGIN IMMEDIATE')
        return undefined
      } catch (error) {
        if (!isLocked(error) || performance.now() > deadline) return error as Error
        await pause(lockRetryMs)
      }
    }
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
  const lock = new DatabaseSync(join(dataDir, 'server.lock'), { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (!isLocked(error)) throw error
    throw new Error(`Another petstore server is running on ${dataDir}: stop it, or set PETSTORE_DATA_DIR.`)
  }
  return () => lock.close()
}
