import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { ClientBase, Pool } from 'pg'
import { pollForChanges } from '../changePoller.ts'
import { type Database, DatabaseUnavailableError } from '../database.ts'
import { PostgresDb, query, withClient } from './driver.ts'
import { createEventNumbering } from './eventNumbering.ts'
import { connectionSource, createPool, numberingQueryMaxMs, withFallback } from './pool.ts'
import { createReplica } from './replica.ts'
import { beginStatement, inTransaction, queryMaxMs } from './transactions.ts'
import { PostgresWriter } from './writer.ts'

const pingMaxMs = 1_000
const closeWaitMaxMs = 2_000
const unknownCallerPoolMax = 2
const numberingPoolMax = 1
const defaultChangePollMs = 250
const unlimitedMs = 2 ** 31 - 1
const noTimeouts = 'SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0'
const beginSnapshot = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${noTimeouts}`
/** One process at a time migrates a schema. */
const migrationLock =
  "SELECT pg_advisory_xact_lock(hashtext(current_schema()), hashtext('petstore migration'))"
/**
 * A migration waits for open transactions, and all others wait for the migration. It fails before they do, and the start
 * of a process tries it again for some seconds.
 */
const migrationLockMaxMs = 1_000
const beginMigration = `${beginStatement}; ${noTimeouts}; SET LOCAL lock_timeout = 0; ${migrationLock};
  SET LOCAL lock_timeout = ${migrationLockMaxMs}; SET LOCAL petstore.is_service = false`

type PostgresOptions = {
  readonly url: string
  readonly poolMax: number
  readonly replica?: { readonly url: string; readonly lagMaxMs: number } | undefined
  readonly changePollMs?: number
}

/** Any number of processes can share a PostgreSQL database. */
export function openPostgres({
  url,
  poolMax,
  replica: replicaOptions,
  changePollMs = defaultChangePollMs,
}: PostgresOptions): Database {
  const pool = createPool(url, poolMax, 'read')
  // Writes have their own connections: those that wait for a lock do not delay reads and the authentication.
  const writePool = createPool(url, poolMax, 'write')
  const unknownCallerPool = createPool(url, unknownCallerPoolMax, 'read')
  const source = connectionSource(pool, () => queryMaxMs)
  const numberingPool = createPool(url, numberingPoolMax, 'numbering')
  /** Uses a pool of its own, and that of the reads, with its limits, if the server has no more connections. */
  const dbOf = (own: Pool, timeoutMs: number) =>
    new PostgresDb(
      withFallback(
        connectionSource(own, () => timeoutMs, { isRetrying: false }),
        source,
      ),
    )
  const unlimited = connectionSource(pool, () => unlimitedMs)
  const read = new PostgresDb(source)
  const pools = [pool, writePool, unknownCallerPool, numberingPool]
  let replica: ReturnType<typeof createReplica> | undefined
  if (replicaOptions) {
    const replicaPool = createPool(replicaOptions.url, poolMax, 'replica')
    replica = createReplica(replicaPool, read, replicaOptions.lagMaxMs)
    pools.push(replicaPool)
  }
  const writer = new PostgresWriter(writePool)
  const numbering = createEventNumbering(dbOf(numberingPool, numberingQueryMaxMs))
  const version = sql<{ version: number }>`SELECT sum(changes)::bigint AS version FROM counter_slots`
  // Every change of any process increases it.
  const readVersion = async () => (await version.execute(read)).rows[0]?.version
  const externalChanges = pollForChanges(readVersion, { intervalMs: changePollMs })
  return {
    read,
    unknownCallerDb: dbOf(unknownCallerPool, queryMaxMs),
    replica,
    write: (work, options) => writer.write(work, options),
    run: (query) => writer.run(query),
    writeUnlogged: (work) => writer.write(work, { isLogged: false }),
    migrate: (work) =>
      inTransaction(unlimited, beginMigration, (trx, client) =>
        work(trx, async (script) => void (await query(client, script, [], unlimitedMs))),
      ),
    snapshot: (work) => inTransaction(unlimited, beginSnapshot, work),
    version: () => undefined,
    watchRows: () => undefined,
    onCommit: (listener) => writer.onCommit(listener),
    // An id is returned after a synchronous commit, which also flushes all earlier commits.
    readableThrough: () => numbering.numberSome(),
    allReadableThrough: (signal) => numbering.numberAll(signal),
    onStorageFault() {},
    // PostgreSQL removes old row versions itself: see docs/guides/personal-data.md.
    truncateWal() {},
    async yieldToServer() {},
    onExternalChange: externalChanges.listen,
    subjectWaiters: () => writer.subjectWaiters,
    stats: () => ({
      writesWaiting: writer.waiting,
      connectionsBusy: sum(pools, ({ totalCount, idleCount }) => totalCount - idleCount),
      connectionsAwaited: sum(pools, ({ waitingCount }) => waitingCount),
      replicasUsable: replica?.usable() ? 1 : 0,
    }),
    ping: () => withClient(source, ping),
    async close() {
      externalChanges.stop()
      replica?.stop()
      await writer.idle()
      // An unresponsive server does not confirm the end of a connection.
      await Promise.race([
        Promise.all(pools.map((one) => one.end())),
        sleep(closeWaitMaxMs, undefined, { ref: false }),
      ])
    },
  }
}

const sum = (pools: readonly Pool[], count: (pool: Pool) => number): number =>
  pools.reduce((total, pool) => total + count(pool), 0)

/** After a failover, or a change of its role, a connection may be read-only. It must not be used again. */
async function ping(client: ClientBase): Promise<void> {
  const text = `SELECT current_setting('transaction_read_only') AS "isReadOnly" FROM schema_migrations LIMIT 1`
  const { rows } = await query(client, text, [], pingMaxMs)
  if (rows[0]?.isReadOnly !== 'off') throw new DatabaseUnavailableError('The database is read-only.')
}
