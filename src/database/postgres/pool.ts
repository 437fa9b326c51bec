import { Pool, type PoolClient } from 'pg'
import { DatabaseUnavailableError } from '../database.ts'
import { withRetry } from '../retry.ts'
import { type ConnectionSource, query } from './driver.ts'
import { isTooManyConnections } from './errors.ts'

/** How long a request waits for a free connection, or for a new one. */
const connectWaitMaxMs = 2_000
/** The server cancels a statement before the client times out: a client timeout costs the connection. */
const statementMaxMs = 2_500
/** A process that stops during a transaction blocks the others no longer than this. */
const idleInTransactionMaxMs = 2_000
const waitingForConnectionMax = 2_000
const connectRetryMs = 20

/**
 * Every query is designed for an index and its order. With these settings the planner uses the index, independent of the
 * statistics of the tables.
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

export function createPool(url: string, max: number): Pool {
  const pool = new Pool({
    connectionString: url,
    max,
    application_name: 'petstore',
    connectionTimeoutMillis: connectWaitMaxMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    // As statements: a connection pooler would reject them as startup parameters.
    onConnect: async (client) => void (await query(client, sessionSettings, [], connectWaitMaxMs)),
  })
  // The pool removes idle connections that end.
  pool.on('error', () => {})
  return pool
}

export function connectionSource(pool: Pool, timeoutMs: () => number): ConnectionSource {
  // If the server has no more connections, one of this pool becomes free.
  const isRetryable = (error: unknown) => isTooManyConnections(error) && pool.totalCount > 0
  const retry = { waitMaxMs: connectWaitMaxMs, retryMs: connectRetryMs, isRetryable }
  return {
    async acquire() {
      if (pool.waitingCount >= waitingForConnectionMax) {
        throw new DatabaseUnavailableError('Too many requests are waiting for a connection.')
      }
      const client = await withRetry(() => pool.connect(), retry).catch((cause: unknown) => {
        throw new DatabaseUnavailableError('The database cannot be reached.', { cause })
      })
      client.on('error', ignoreError)
      return client
    },
    release(client, error) {
      client.off('error', ignoreError)
      ;(client as PoolClient).release(error !== undefined)
    },
    timeoutMs,
  }
}

/** The query that was running reports the error. */
const ignoreError = () => {}
