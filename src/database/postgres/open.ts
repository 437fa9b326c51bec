import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase } from 'pg'
import { type Database, DatabaseUnavailableError } from '../database.ts'
import { postgresDialect } from '../dialect.ts'
import { WriteQueue } from '../writeQueue.ts'
import { watchExternalChanges } from './changes.ts'
import { postgresKysely, query, withClient } from './driver.ts'
import { connectionSource, createPool } from './pool.ts'
import {
  beginStatement,
  inTransaction,
  postgresWriteEngine,
  queryMaxMs,
  writeLockStatement,
} from './transactions.ts'

const pingMaxMs = 1_000
const closeWaitMaxMs = 2_000
const unlimitedMs = 2 ** 31 - 1
const noTimeouts = 'SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0'
const beginSnapshot = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${noTimeouts}`
const beginMigration = `${beginStatement}; ${noTimeouts}; ${writeLockStatement}`

type PostgresOptions = { readonly url: string; readonly poolMax: number }

/** Any number of processes can share a PostgreSQL database. */
export function openPostgres({ url, poolMax }: PostgresOptions): Database {
  const pool = createPool(url, poolMax)
  // Writes use a separate connection, so that reads never wait for them.
  const writerPool = createPool(url, 1)
  const source = connectionSource(pool, () => queryMaxMs)
  const unlimited = connectionSource(pool, () => unlimitedMs)
  const read = postgresKysely(source)
  const queue = new WriteQueue(postgresWriteEngine(writerPool))
  const externalChanges = watchExternalChanges(read)
  return {
    dialect: postgresDialect,
    read,
    write: (work, onDurable) => queue.add(work, onDurable),
    writeConcurrently: (work) => inTransaction(source, beginStatement, work),
    migrate: (work) =>
      inTransaction(unlimited, beginMigration, (trx, client) =>
        work(trx, async (script) => void (await query(client, script, [], unlimitedMs))),
      ),
    snapshot: (work) => inTransaction(unlimited, beginSnapshot, work),
    version: () => undefined,
    watchRows: () => undefined,
    onCommit: (listener) => queue.onCommit(listener),
    // Reads see a commit only after it is flushed, because synchronous_commit is not off.
    trackDurable: async () => () => Number.MAX_SAFE_INTEGER,
    onStorageFault() {},
    // PostgreSQL removes old row versions itself: see docs/guides/personal-data.md.
    truncateWal() {},
    onExternalChange: externalChanges.listen,
    stats: () => ({
      writesWaiting: queue.length,
      connectionsBusy: pool.totalCount - pool.idleCount + writerPool.totalCount - writerPool.idleCount,
      connectionsAwaited: pool.waitingCount,
    }),
    ping: () => withClient(source, ping),
    async close() {
      externalChanges.stop()
      await queue.idle()
      // An unresponsive server does not confirm the end of a connection.
      await Promise.race([
        Promise.all([pool.end(), writerPool.end()]),
        sleep(closeWaitMaxMs, undefined, { ref: false }),
      ])
    },
  }
}

/** After a failover, or a change of its role, a connection may be read-only. It must not be used again. */
async function ping(client: ClientBase): Promise<void> {
  const text = `SELECT current_setting('transaction_read_only') AS "isReadOnly" FROM schema_migrations LIMIT 1`
  const { rows } = await query(client, text, [], pingMaxMs)
  if (rows[0]?.isReadOnly !== 'off') throw new DatabaseUnavailableError('The database is read-only.')
}
