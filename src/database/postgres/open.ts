import { setTimeout as pause } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { type ClientBase, Pool, type PoolClient, type PoolConfig } from 'pg'
import { type Database, DatabaseUnavailableError } from '../database.ts'
import { postgresDialect } from '../dialect.ts'
import type { Tables } from '../tables.ts'
import { type Engine, type Turn, WriteQueue } from '../writeQueue.ts'
import { watchForeignChanges } from './changes.ts'
import { ask, type Lease, postgresKysely } from './driver.ts'
import { isConflict, isCrowded, isReadOnly, isRefusal, isStalePlan } from './errors.ts'

/** How long a request waits for a connection: for a free one, or for a new one. */
const connectWaitMaxMs = 2_000
/** How long it waits for an answer. The server gives up a little earlier, so that a slow answer does not cost the connection. */
const answerWaitMaxMs = 3_000
const statementMaxMs = 2_500
/** All changes of one commit together. */
const commitMaxMs = 5_000
/** A process that stopped in the middle of a change holds up the others no longer than this. */
const idleInTransactionMaxMs = 2_000
const waitingForConnectionMax = 2_000
const crowdedRetryMs = 20
const pingMaxMs = 1_000
const closeWaitMaxMs = 2_000
const unlimitedMs = 2 ** 31 - 1

type PostgresOptions = { readonly url: string; readonly poolMax: number }

/** The shared store: any number of processes on one PostgreSQL. */
export function openPostgres({ url, poolMax }: PostgresOptions): Database {
  const pool = newPool(url, poolMax)
  // Writing has a connection of its own, so that reads never wait behind it.
  const writerPool = newPool(url, 1)
  const usual = leaseOf(pool, () => answerWaitMaxMs)
  const read = postgresKysely(usual)
  const queue = new WriteQueue(postgresEngine(writerPool))
  const watch = watchForeignChanges(read)
  return {
    dialect: postgresDialect,
    read,
    write: (work, onDurable) => queue.add(work, onDurable),
    writeConcurrently: (work) => inTransaction(usual, begin, answerWaitMaxMs, work),
    migrate: (work) =>
      inTransaction(
        leaseOf(pool, () => unlimitedMs),
        `${begin}; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; ${takeTurn}`,
        unlimitedMs,
        work,
      ),
    snapshot: (work) =>
      inTransaction(
        leaseOf(pool, () => unlimitedMs),
        'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0',
        unlimitedMs,
        work,
      ),
    version: () => undefined,
    watchPets: () => undefined,
    onCommit: (listener) => queue.onCommit(listener),
    // PostgreSQL shows a commit only once it is flushed, since synchronous_commit is not off (see sessionSettings).
    trackDurable: async () => () => Number.MAX_SAFE_INTEGER,
    onStorageFault() {},
    // Old versions of rows are PostgreSQL's own to clean up: see docs/guides/personal-data.md.
    truncateWal() {},
    onForeignChange: watch.listen,
    stats: () => ({
      writesWaiting: queue.waiting,
      connectionsBusy: pool.totalCount - pool.idleCount + writerPool.totalCount - writerPool.idleCount,
      connectionsAwaited: pool.waitingCount,
    }),
    ping: () => ping(usual),
    async close() {
      watch.stop()
      await queue.idle()
      // A server that does not answer does not take leave either.
      await Promise.race([
        Promise.all([pool.end(), writerPool.end()]),
        pause(closeWaitMaxMs, undefined, { ref: false }),
      ])
    },
  }
}

/** The level that every statement here is written for, independent of the defaults of the role, the database and the server. */
const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/** Whoever holds this is the only writer of the store, which is a schema, until its transaction ends. */
const takeTurn = "SELECT pg_advisory_xact_lock(hashtext(current_schema()), hashtext('petstore write'))"

/**
 * Every query here is made to be answered from an index, in its order. What it costs must not depend on what the planner
 * believes of the rows, so it takes other ways only where there is no index.
 */
const sessionSettings = `
  SET default_transaction_isolation = 'read committed';
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
  SET statement_timeout = ${statementMaxMs};
  SET idle_in_transaction_session_timeout = ${idleInTransactionMaxMs};
  SET enable_seqscan = off;
  SET enable_bitmapscan = off;
  SET enable_sort = off;
  SET enable_incremental_sort = off;
  SET enable_hashjoin = off;
  SET enable_mergejoin = off`

function newPool(url: string, max: number): Pool {
  const options: PoolConfig = {
    connectionString: url,
    max,
    application_name: 'petstore',
    connectionTimeoutMillis: connectWaitMaxMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    // By a statement and not at the connection's start, where a pooler in between would refuse them.
    onConnect: async (client) => void (await ask(client, sessionSettings, [], connectWaitMaxMs)),
  }
  const pool = new Pool(options)
  // A connection that ends while nobody uses it leaves the pool, and that is all there is to do.
  pool.on('error', () => {})
  return pool
}

function leaseOf(pool: Pool, answerMaxMs: () => number): Lease {
  return {
    async take() {
      if (pool.waitingCount >= waitingForConnectionMax) {
        throw new DatabaseUnavailableError('Too many are waiting for a connection.')
      }
      const deadline = performance.now() + connectWaitMaxMs
      for (;;) {
        try {
          const client = await pool.connect()
          client.on('error', ignore)
          return client
        } catch (error) {
          // Where there can be no more connections, those that there are will come free.
          const isWorthWaiting = isCrowded(error) && pool.totalCount > 0 && performance.now() < deadline
          if (!isWorthWaiting)
            throw new DatabaseUnavailableError('The store cannot be reached.', { cause: error })
          await pause(crowdedRetryMs)
        }
      }
    },
    giveBack(client, error) {
      client.off('error', ignore)
      ;(client as PoolClient).release(error !== undefined)
    },
    answerMaxMs,
  }
}

/** A connection that ends in the middle of a query says so to the query as well. */
const ignore = () => {}

/** A connection that may not write has outlived a failover, or a change of its role: it is not to be used again. */
async function ping(lease: Lease): Promise<void> {
  const client = await lease.take()
  let fault: unknown
  try {
    const text = `SELECT current_setting('transaction_read_only') AS "isReadOnly" FROM schema_migrations LIMIT 1`
    const { rows } = await ask(client, text, [], pingMaxMs)
    if (rows[0]?.isReadOnly !== 'off') throw new DatabaseUnavailableError('The store cannot be written to.')
  } catch (error) {
    fault = error
    throw error
  } finally {
    lease.giveBack(client, fault)
  }
}

async function inTransaction<T>(
  lease: Lease,
  begin: string,
  answerMaxMs: number,
  work: (trx: Kysely<Tables>) => Promise<T>,
): Promise<T> {
  const client = await lease.take()
  let fault: unknown
  try {
    await ask(client, begin, [], answerMaxMs)
    const value = await work(heldBy(client, () => answerMaxMs))
    await commit(client, answerMaxMs)
    return value
  } catch (error) {
    // A transaction that failed ends with its connection.
    fault = error
    throw error
  } finally {
    lease.giveBack(client, fault)
  }
}

/** Kysely on one connection that somebody else has taken and will give back. */
const heldBy = (
  client: ClientBase,
  answerMaxMs: () => number,
  told: { onFault?(error: unknown): void; onTrace?(): void } = {},
): Kysely<Tables> =>
  postgresKysely({
    take: async () => client,
    giveBack: (_client, error) => error !== undefined && told.onFault?.(error),
    answerMaxMs,
    ...(told.onTrace && { onTrace: told.onTrace }),
  })

/** A transaction that has failed answers COMMIT with a ROLLBACK, and without an error. */
async function commit(client: ClientBase, answerMaxMs: number): Promise<void> {
  const { command } = await ask(client, 'COMMIT', [], answerMaxMs)
  if (command !== 'COMMIT') throw new DatabaseUnavailableError('The store did not take the change.')
}

function postgresEngine(pool: Pool): Engine {
  return {
    async begin(): Promise<Turn> {
      const deadline = performance.now() + commitMaxMs
      const lease = leaseOf(pool, () => Math.min(answerWaitMaxMs, deadline - performance.now()))
      const client = await lease.take()
      let fault: unknown
      let traces = 0
      const run = async (statement: string) => {
        try {
          if (statement === 'COMMIT') await commit(client, lease.answerMaxMs())
          else await ask(client, statement, [], lease.answerMaxMs())
        } catch (error) {
          fault = error
          throw error
        }
      }
      try {
        await run(`${begin}; ${takeTurn}`)
      } catch (error) {
        lease.giveBack(client, error)
        throw error
      }
      return {
        trx: heldBy(client, lease.answerMaxMs, {
          // What the server has refused can be undone by itself; a connection that fell silent, or that may not write,
          // cannot be used again.
          onFault(error) {
            const { cause } = error as Error
            if (!isRefusal(cause) || isReadOnly(cause)) fault = error
          },
          onTrace() {
            traces++
          },
        }),
        run,
        get traces() {
          return traces
        },
        get isOpen() {
          return fault === undefined && client.getTransactionStatus() !== 'I'
        },
        // Where the transaction has not ended as it should, it ends with its connection.
        end: () =>
          lease.giveBack(client, fault ?? (client.getTransactionStatus() === 'I' ? undefined : 'open')),
      }
    },
    isPassing: (error) => isStalePlan(error) || isConflict((error as Error).cause ?? error),
    // Without a cause it never left, or was answered.
    isOutcomeUnknown: (error) => {
      const { cause } = error as Error
      return error instanceof DatabaseUnavailableError && cause !== undefined && !isRefusal(cause)
    },
  }
}
