import { Socket } from 'node:net'
import { Pool, type PoolClient } from 'pg'
import { DatabaseUnavailableError } from '../database.ts'
import { withRetry } from '../retry.ts'
import { type ConnectionSource, query } from './driver.ts'
import { isTooManyConnections } from './errors.ts'

/** How long a request waits for a free connection, or for a new one. */
const connectWaitMaxMs = 2_000
/** The server cancels a read before the client times out: a client timeout costs the connection. */
const readMaxMs = 2_500
/**
 * How long giving ids to one batch of events may take, with the wait for a batch of another instance. If every batch took
 * longer, no event would ever get an id.
 */
const numberingMaxMs = 4_500
export const numberingQueryMaxMs = 5_000
/** Each for a connection to a replica and for a query. After that the primary responds. */
const replicaMaxMs = 1_000
export const replicaQueryMaxMs = 1_500
const lockWaitMaxMs = 2_000
/** A process that stops during a transaction blocks the others no longer than this. */
const idleInTransactionMaxMs = 2_000
const waitingForConnectionMax = 2_000
const connectRetryMs = 20

/**
 * Every query is designed for an index and its order. With these settings the planner uses the index, independent of the
 * statistics of the tables. They also raise the estimated costs, so that the JIT would compile every statement.
 */
const settings = `
  SET default_transaction_isolation = 'read committed';
  SET lock_timeout = ${lockWaitMaxMs};
  SET idle_in_transaction_session_timeout = ${idleInTransactionMaxMs};
  SET enable_seqscan = off;
  SET enable_bitmapscan = off;
  SET enable_sort = off;
  SET enable_incremental_sort = off;
  SET enable_hashjoin = off;
  SET enable_mergejoin = off;
  SET jit = off;
  SET petstore.is_service = true`

/** Not for a replica, which has no commits. There a SELECT would fail if the default isolation level is serializable. */
const synchronousCommit =
  "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"

const uses = {
  read: {
    connectMs: connectWaitMaxMs,
    settings: `SET statement_timeout = ${readMaxMs}; ${synchronousCommit}`,
  },
  numbering: {
    connectMs: connectWaitMaxMs,
    settings: `SET statement_timeout = ${numberingMaxMs}; SET lock_timeout = 0; ${synchronousCommit}`,
  },
  /** Writes are never cancelled: a commit that waits for a synchronous standby would then be reported as a success. */
  write: { connectMs: connectWaitMaxMs, settings: `SET statement_timeout = 0; ${synchronousCommit}` },
  replica: { connectMs: replicaMaxMs, settings: `SET statement_timeout = ${replicaMaxMs}` },
}

export function createPool(url: string, max: number, use: keyof typeof uses): Pool {
  const { connectMs } = uses[use]
  const sessionSettings = `${settings}; ${uses[use].settings}`
  const pool = new Pool({
    connectionString: url,
    max,
    application_name: 'petstore',
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    // Statements of a transaction are sent without waiting for the results of those before.
    pipeline: use === 'write',
    ...(use === 'write' && { stream: () => new CoalescingSocket() }),
    // As statements: a connection pooler would reject them as startup parameters.
    onConnect: async (client) => void (await query(client, sessionSettings, [], connectMs)),
  })
  // The pool removes idle connections that end.
  pool.on('error', () => {})
  return pool
}

/** Sends the statements of one turn of the event loop with one system call. `pg` calls `cork` for each statement. */
class CoalescingSocket extends Socket {
  #isCorked = false

  override cork(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    super.cork()
    process.nextTick(() => {
      this.#isCorked = false
      super.uncork()
    })
  }

  override uncork(): void {}
}

export function connectionSource(
  pool: Pool,
  timeoutMs: () => number,
  { isRetrying = true } = {},
): ConnectionSource {
  // If the server has no more connections, one of this pool becomes free.
  const isRetryable = (error: unknown) => isRetrying && isTooManyConnections(error) && pool.totalCount > 0
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

/** Uses a connection of the other source if the server has none left for this one. Both release to the pool of the connection. */
export const withFallback = (source: ConnectionSource, other: ConnectionSource): ConnectionSource => ({
  ...source,
  acquire: () =>
    source.acquire().catch((error: Error) => {
      if (!isTooManyConnections(error.cause)) throw error
      return other.acquire()
    }),
})

/** The query that was running reports the error. */
const ignoreError = () => {}
